import { auditing } from './audit.ts'
import { removing } from './remove.ts'
import { upgrading } from './upgrade.ts'

// In this order: a removal takes the roles before the pods, whose last requests are then denied.
upgrading()
auditing()
removing()

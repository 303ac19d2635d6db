import {
  capabilitiesOf,
  isMsspRole,
  type MsspCapability,
  MSSP_ROLES,
  type MsspPrincipal,
} from '@service/domain'
import { describe, expect, it } from 'vitest'
import { guardPin } from './guard.ts'

const staff = (role: MsspPrincipal['role'], currentTenant: string | null): MsspPrincipal => ({
  kind: 'user',
  audience: 'mssp',
  userId: 'u',
  role,
  tenantId: null,
  currentTenant,
  sessionId: null,
})

describe('the pin', () => {
  it.each(MSSP_ROLES)('%s needs one exactly for what an analyst does in a tenant', (role) => {
    const needing = capabilitiesOf(role).filter((capability) => {
      const access = { kind: 'mssp', capability: capability as MsspCapability } as const
      expect(() => guardPin(staff(role, 'tenant'), access)).not.toThrow()
      try {
        guardPin(staff(role, null), access)
        return false
      } catch (error) {
        expect(error).toMatchObject({ code: 'tenant_pin_required' })
        return true
      }
    })
    expect(isMsspRole(role)).toBe(true)
    expect(needing).toEqual(role === 'analyst' ? ['case.write', 'alert.write', 'review.decide'] : [])
  })
})

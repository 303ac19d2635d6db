export { startWireProxy } from './proxy.ts'
export type { SeenRequest, WireCounts, WireProxy } from './proxy.ts'
export type { FaultRule, RequestKind, WireFault } from './faults.ts'
export type { ConnectionMode } from './links.ts'

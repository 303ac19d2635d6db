/** What every tenant goes through, once each and in this order. */
export const WHOLE_HISTORY = [
  'tenant.created none>pending',
  'step.started namespace',
  'step.done namespace',
  'step.started secrets',
  'step.done secrets',
  'step.started release',
  'step.done release',
  'state.changed pending>provisioning',
  'step.started workloads',
  'step.done workloads',
  'step.started heartbeat',
  'step.done heartbeat',
  'state.changed provisioning>active',
]

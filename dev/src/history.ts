/** From the first step to the one that may fail. */
const INSTALLED = [
  'step.started namespace',
  'step.done namespace',
  'step.started secrets',
  'step.done secrets',
  'step.started release',
]
const REST = [
  'step.done release',
  'state.changed pending>provisioning',
  'step.started workloads',
  'step.done workloads',
  'step.started heartbeat',
  'step.done heartbeat',
  'state.changed provisioning>active',
]

/** The lifecycle rows that every tenant has when it is active, once each and in this order, as `kind step from>to`. */
export const WHOLE_HISTORY: readonly string[] = ['tenant.created none>pending', ...INSTALLED, ...REST]

/** The same after one failed installation; rows that the API writes come before those of the operator. */
export const RETRIED_HISTORY: readonly string[] = [
  'tenant.created none>pending',
  'retry.requested',
  ...INSTALLED,
  'step.failed release',
  'rolled_back release',
  ...INSTALLED,
  ...REST,
]

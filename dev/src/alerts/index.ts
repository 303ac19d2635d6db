export { readAlertsFile, shiftToEndAt } from './file.ts'
export { generateAlerts, type Alert, type GenerateOptions } from './generate.ts'
export { loadAlerts } from './load.ts'

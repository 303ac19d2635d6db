export { startAdapter, type Adapter, type AdapterOptions } from './adapter.ts'
export { parse, VARIABLES, type Config } from './config.ts'
export { mapAlert } from './map.ts'

export { createApi } from './api.ts'
export { startService } from './serve.ts'

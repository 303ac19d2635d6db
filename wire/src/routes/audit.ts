import { AuditList, AuditQuery, TenantAuditList, TenantAuditQuery } from '../audit.ts'
import { type Route, mssp, tenant } from './route.ts'

export const AUDIT_ROUTES = {
  'mssp.audit.list': {
    method: 'GET',
    path: '/api/audit',
    summary: 'Who did what, newest first; of the tenant that was entered, if one was',
    access: mssp('audit.read'),
    query: AuditQuery,
    status: 200,
    response: AuditList,
    exports: true,
  },
  'tenant.audit.list': {
    method: 'GET',
    path: '/api/tenant/audit',
    summary: 'Who did what in the own tenant, newest first',
    access: tenant('audit.read'),
    query: TenantAuditQuery,
    status: 200,
    response: TenantAuditList,
    exports: true,
  },
} as const satisfies Readonly<Record<string, Route>>

-- Row-level security (S "Row-level security", decision 8b): every table with a tenant_id, and tenants by its id.
-- Strict equality, no TO clause, forced on the owner, too; without a tenant set nothing equals null and no row is seen.
-- The setting sits in a scalar subselect, so that it is read once for each statement and the index is used.

alter default privileges for role service_admin revoke execute on functions from public;
alter default privileges for role service_admin revoke usage on types from public;

do $$
declare
  isolated text;
begin
  foreach isolated in array array[
    'tenant_statuses', 'tenant_installations', 'tenant_secrets', 'tenant_lifecycle_events', 'tenant_heartbeats',
    'integration_configs', 'branding_configs', 'reconcile_queue', 'adapter_checkpoints', 'events', 'users'
  ] loop
    execute format('alter table public.%I enable row level security', isolated);
    execute format('alter table public.%I force row level security', isolated);
    execute format(
      'create policy tenant_isolation on public.%I '
      'using (tenant_id = (select nullif(current_setting(''app.current_tenant_id'', true), '''')::uuid)) '
      'with check (tenant_id = (select nullif(current_setting(''app.current_tenant_id'', true), '''')::uuid))',
      isolated
    );
  end loop;
end
$$;

alter table public.tenants enable row level security;
alter table public.tenants force row level security;
create policy tenant_isolation on public.tenants
  using (id = (select nullif(current_setting('app.current_tenant_id', true), '')::uuid))
  with check (id = (select nullif(current_setting('app.current_tenant_id', true), '')::uuid));

-- Append-only: a tenant reads and adds its own rows. Rows of the install (tenant_id null) are added by a function.
alter table public.audit_log enable row level security;
alter table public.audit_log force row level security;
create policy audit_read on public.audit_log for select
  using (tenant_id = (select nullif(current_setting('app.current_tenant_id', true), '')::uuid));
create policy audit_write on public.audit_log for insert
  with check (tenant_id = (select nullif(current_setting('app.current_tenant_id', true), '')::uuid));

grant select, insert, update on
  public.tenants, public.tenant_statuses, public.tenant_installations, public.tenant_secrets,
  public.tenant_heartbeats, public.integration_configs, public.branding_configs, public.reconcile_queue,
  public.adapter_checkpoints, public.users
  to service_app, service_mssp;
grant delete on public.reconcile_queue to service_mssp;
grant select, insert on public.audit_log, public.events, public.tenant_lifecycle_events to service_app, service_mssp;
grant select on public.organization, public.install_settings, public.schema_migrations to service_app, service_mssp;

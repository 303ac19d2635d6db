-- Who an identity proxy's e-mail address is at this host, if active there (decision 2.7), and the tenant that a request
-- of MSSP staff names, by id or by slug. p_slug null is the MSSP host. `entered`: an audit row of the last p_entered_ms
-- tells already that this user works in that tenant.
create function public.proxy_resolve(
  p_email text, p_slug text, p_tenant_id uuid, p_tenant_slug text, p_entered_ms double precision
) returns table (
  user_id uuid, email text, display_name text, role text, tenant_id uuid, tenant_slug text, tenant_display_name text,
  pinned_id uuid, pinned_slug text, pinned_display_name text, entered boolean
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select u.id, u.email, u.display_name, u.role, u.tenant_id, t.slug, t.display_name, p.id, p.slug, p.display_name,
           exists (select from public.audit_log a
                    where a.tenant_id = p.id and a.actor_id = u.id::text and a.action = 'tenant.assume'
                      and a."timestamp" > pg_catalog.now() - p_entered_ms * interval '1 millisecond')
      from public.users u
      left join public.tenants t on t.id = u.tenant_id
      left join public.tenants p
        on u.tenant_id is null and p.deleted_at is null
       and case when p_tenant_id is null then p.slug = p_tenant_slug else p.id = p_tenant_id end
     where pg_catalog.lower(u.email) = pg_catalog.lower(p_email) and u.active
       and case when p_slug is null then u.tenant_id is null else t.slug = p_slug and t.deleted_at is null end;
end
$$;

revoke execute on function public.proxy_resolve(text, text, uuid, text, double precision) from public;
grant execute on function public.proxy_resolve(text, text, uuid, text, double precision) to service_app;

grant create on schema public to service_definer;
alter function public.proxy_resolve(text, text, uuid, text, double precision) owner to service_definer;
revoke create on schema public from service_definer;

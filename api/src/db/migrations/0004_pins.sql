-- The tenant that a session of MSSP staff has entered (decision 2.6); null leaves it. False when the session no longer
-- lives. Entering an unknown or deleted tenant is an error: the caller has just read it.
create function public.session_pin(p_id uuid, p_tenant_id uuid, p_until timestamptz, p_now timestamptz) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform public.require_audit();
  if p_tenant_id is not null then
    perform from public.tenants t where t.id = p_tenant_id and t.deleted_at is null for share;
    if not found then
      raise exception 'there is no such tenant' using errcode = 'no_data_found';
    end if;
  end if;
  update public.sessions s
     set tenant_context = p_tenant_id, pinned_until = case when p_tenant_id is not null then p_until end
    from public.users u
   where s.id = p_id and u.id = s.user_id and u.tenant_id is null and u.active
     and s.revoked_at is null and s.absolute_expiry > p_now and s.idle_expiry > p_now;
  return found;
end
$$;

-- A row that is locked for sharing needs this right.
grant update on public.tenants to service_definer;
revoke execute on function public.session_pin(uuid, uuid, timestamptz, timestamptz) from public;
grant execute on function public.session_pin(uuid, uuid, timestamptz, timestamptz) to service_app;

grant create on schema public to service_definer;
alter function public.session_pin(uuid, uuid, timestamptz, timestamptz) owner to service_definer;
revoke create on schema public from service_definer;

-- Users of both sides. Row-level security shows no MSSP user to anybody (decision 8b), and nobody has a grant on
-- credentials and sessions, so that these functions are the way. Each is told whose users are meant, null for the
-- MSSP's, and refuses when the transaction is in another scope.

create function public.require_scope(p_tenant_id uuid) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_tenant_id is distinct from nullif(pg_catalog.current_setting('app.current_tenant_id', true), '')::uuid then
    raise exception 'the users of another scope' using errcode = 'insufficient_privilege';
  end if;
end
$$;

create function public.user_must_change(p_tenant_id uuid, p_id uuid) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform public.require_scope(p_tenant_id);
  return coalesce((
    select c.must_change from public.password_credentials c join public.users u on u.id = c.user_id
     where u.id = p_id and u.tenant_id is not distinct from p_tenant_id
  ), false);
end
$$;

-- The user as it is until the transaction ends, and how many other active users have p_admin_role. Changes of one
-- scope's users take turns, so that two cannot remove the last two administrators at the same time.
create function public.user_lock(p_tenant_id uuid, p_id uuid, p_admin_role text)
returns table (
  id uuid, tenant_id uuid, email text, display_name text, role text, active boolean, must_change boolean,
  last_login_at timestamptz, created_at timestamptz, other_admins integer
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform public.require_scope(p_tenant_id);
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(coalesce(p_tenant_id::text, 'install'), 712340004));
  return query
    select u.id, u.tenant_id, u.email, u.display_name, u.role, u.active, coalesce(c.must_change, false),
           u.last_login_at, u.created_at,
           (select count(*)::integer from public.users o
             where o.tenant_id is not distinct from p_tenant_id and o.role = p_admin_role and o.active and o.id <> p_id)
      from public.users u left join public.password_credentials c on c.user_id = u.id
     where u.id = p_id and u.tenant_id is not distinct from p_tenant_id
       for update of u;
end
$$;

-- A new user, with a password to be changed at the first login unless p_password_hash is null.
create function public.user_create(
  p_tenant_id uuid, p_id uuid, p_email text, p_display_name text, p_role text, p_password_hash text, p_now timestamptz
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform public.require_scope(p_tenant_id);
  perform public.require_audit();
  insert into public.users (id, tenant_id, email, display_name, role, created_at, updated_at)
  values (p_id, p_tenant_id, p_email, p_display_name, p_role, p_now, p_now);
  if p_password_hash is not null then
    insert into public.password_credentials (user_id, password_hash, must_change, updated_at)
    values (p_id, p_password_hash, true, p_now);
  end if;
end
$$;

-- What a user is from now on; all sessions end with another role or activity (decision 4).
create function public.user_update(
  p_tenant_id uuid, p_id uuid, p_display_name text, p_role text, p_active boolean, p_now timestamptz
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  former record;
begin
  perform public.require_scope(p_tenant_id);
  perform public.require_audit();
  select u.role, u.active into strict former
    from public.users u where u.id = p_id and u.tenant_id is not distinct from p_tenant_id for update;
  update public.users u set display_name = p_display_name, role = p_role, active = p_active, updated_at = p_now
   where u.id = p_id;
  if former.role <> p_role or former.active <> p_active then
    update public.sessions s set revoked_at = p_now where s.user_id = p_id and s.revoked_at is null;
  end if;
end
$$;

-- An administrator's password for somebody: to be changed at the next login; every session and lockout ends.
create function public.user_set_password(p_tenant_id uuid, p_id uuid, p_password_hash text, p_now timestamptz)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform public.require_scope(p_tenant_id);
  perform public.require_audit();
  perform from public.users u where u.id = p_id and u.tenant_id is not distinct from p_tenant_id for update;
  if not found then
    raise exception 'there is no such user' using errcode = 'no_data_found';
  end if;
  insert into public.password_credentials as c (user_id, password_hash, must_change, updated_at)
  values (p_id, p_password_hash, true, p_now)
  on conflict (user_id) do update
    set password_hash = excluded.password_hash, must_change = true, updated_at = excluded.updated_at,
        consecutive_failures = 0, window_started_at = null, locked_until = null;
  update public.sessions s set revoked_at = p_now where s.user_id = p_id and s.revoked_at is null;
end
$$;

-- user_create takes its place.
drop function public.create_credential(uuid, text, boolean, timestamptz);

revoke execute on function
  public.require_scope(uuid),
  public.user_must_change(uuid, uuid),
  public.user_lock(uuid, uuid, text),
  public.user_create(uuid, uuid, text, text, text, text, timestamptz),
  public.user_update(uuid, uuid, text, text, boolean, timestamptz),
  public.user_set_password(uuid, uuid, text, timestamptz)
  from public;
grant execute on function
  public.user_lock(uuid, uuid, text),
  public.user_create(uuid, uuid, text, text, text, text, timestamptz),
  public.user_update(uuid, uuid, text, text, boolean, timestamptz),
  public.user_set_password(uuid, uuid, text, timestamptz)
  to service_app;
grant execute on function public.user_must_change(uuid, uuid) to service_app, service_mssp;

grant create on schema public to service_definer;
do $$
declare
  each regprocedure;
begin
  for each in
    select p.oid from pg_catalog.pg_proc p
     where p.pronamespace = 'public'::regnamespace and p.proowner = 'service_admin'::regrole
  loop
    execute pg_catalog.format('alter function %s owner to service_definer', each);
  end loop;
end
$$;
revoke create on schema public from service_definer;

-- Logins, sessions, first users, pruning. Nobody has a grant on sessions, password_credentials and login_shadows:
-- these functions are the way. They belong to service_definer, whom row-level security does not bind and as whom
-- nobody logs in; their search_path is fixed and every name is qualified.

grant select, insert, update on public.sessions, public.password_credentials to service_definer;
grant select, insert, update, delete on public.login_shadows to service_definer;
grant select, insert, update on public.users to service_definer;
grant select on public.tenants to service_definer;
grant select, insert, delete on public.audit_log to service_definer;
grant select, delete on public.tenant_lifecycle_events to service_definer;

-- What one more attempt makes of the failure columns (S "Credential"). The tenth reservation of a window already
-- sets the lock, so that attempts running at the same time cannot pass the limit; a success takes it back.
create function public.next_attempt(
  p_failures integer, p_window_started timestamptz, p_locked_until timestamptz, p_now timestamptz,
  p_limit integer, p_window_ms double precision, p_lock_ms double precision,
  out refused boolean, out failures integer, out window_started timestamptz, out locked timestamptz
)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_locked_until > p_now then
    refused := true;
    failures := p_failures;
    window_started := p_window_started;
    locked := p_locked_until;
    return;
  end if;
  refused := false;
  if p_locked_until is not null or p_window_started is null
     or p_window_started + p_window_ms * interval '1 millisecond' <= p_now then
    failures := 1;
    window_started := p_now;
  else
    failures := p_failures + 1;
    window_started := p_window_started;
  end if;
  locked := case when failures >= p_limit then p_now + p_lock_ms * interval '1 millisecond' end;
end
$$;

-- Who may not write the audit row of what a function does may not do it.
create function public.require_audit() returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not pg_catalog.has_table_privilege(session_user, 'public.audit_log', 'insert') then
    raise exception 'permission denied for table audit_log' using errcode = 'insufficient_privilege';
  end if;
end
$$;

-- An audit row of the install, which belongs to no tenant.
create function public.append_install_audit(
  p_id uuid, p_timestamp timestamptz, p_actor_principal text, p_actor_id text, p_action text, p_resource_type text,
  p_resource_id text, p_before jsonb, p_after jsonb, p_request_id text, p_details jsonb
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform public.require_audit();
  insert into public.audit_log (id, "timestamp", tenant_id, actor_principal, actor_id, action, resource_type,
                                resource_id, before, after, request_id, details)
  values (p_id, p_timestamp, null, p_actor_principal, p_actor_id, p_action, p_resource_type,
          p_resource_id, p_before, p_after, p_request_id, p_details);
end
$$;

-- Reserves one failure before any password is verified (decision 2.2). p_slug null is the MSSP host. An address that
-- is unknown at this host walks through the same sequence in login_shadows.
create function public.login_reserve(
  p_email text, p_email_hmac bytea, p_slug text, p_now timestamptz,
  p_limit integer, p_window_ms double precision, p_lock_ms double precision
) returns table (
  user_id uuid, tenant_id uuid, role text, active boolean, password_hash text, refused boolean, attempt integer, locked_until timestamptz
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  who record;
  credential public.password_credentials;
  shadow public.login_shadows;
  outcome record;
begin
  perform public.require_audit();
  select u.id, u.tenant_id, u.role, u.active into who
    from public.users u left join public.tenants t on t.id = u.tenant_id
   where pg_catalog.lower(u.email) = pg_catalog.lower(p_email)
     and case when p_slug is null then u.tenant_id is null else t.slug = p_slug and t.deleted_at is null end;
  if found then
    select * into credential from public.password_credentials c where c.user_id = who.id for update;
  end if;
  if credential.user_id is not null then
    select * into outcome from public.next_attempt(credential.consecutive_failures, credential.window_started_at,
      credential.locked_until, p_now, p_limit, p_window_ms, p_lock_ms);
    if not outcome.refused then
      update public.password_credentials c
         set consecutive_failures = outcome.failures, window_started_at = outcome.window_started, locked_until = outcome.locked
       where c.user_id = who.id;
    end if;
  else
    insert into public.login_shadows (email_hmac, updated_at) values (p_email_hmac, p_now) on conflict do nothing;
    select * into shadow from public.login_shadows s where s.email_hmac = p_email_hmac for update;
    select * into outcome from public.next_attempt(shadow.consecutive_failures, shadow.window_started_at,
      shadow.locked_until, p_now, p_limit, p_window_ms, p_lock_ms);
    if not outcome.refused then
      update public.login_shadows s
         set consecutive_failures = outcome.failures, window_started_at = outcome.window_started,
             locked_until = outcome.locked, updated_at = p_now
       where s.email_hmac = p_email_hmac;
    end if;
  end if;
  return query select who.id, who.tenant_id, who.role, who.active, credential.password_hash, outcome.refused, outcome.failures, outcome.locked;
end
$$;

-- Gives a reservation back that was never used: no place to hash, or the outcome could not be recorded.
create function public.login_release(p_user_id uuid, p_email_hmac bytea, p_limit integer) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update public.password_credentials c
     set consecutive_failures = greatest(c.consecutive_failures - 1, 0),
         locked_until = case when c.consecutive_failures - 1 >= p_limit then c.locked_until end
   where c.user_id = p_user_id;
  if not found then
    update public.login_shadows s
       set consecutive_failures = greatest(s.consecutive_failures - 1, 0),
           locked_until = case when s.consecutive_failures - 1 >= p_limit then s.locked_until end
     where s.email_hmac = p_email_hmac;
  end if;
end
$$;

-- A verified password becomes a session, unless the password or the user has changed since it was read.
create function public.login_succeed(
  p_user_id uuid, p_verified_hash text, p_new_hash text, p_session_id uuid, p_now timestamptz,
  p_absolute_expiry timestamptz, p_idle_expiry timestamptz, p_ip inet, p_user_agent text
) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  context uuid;
begin
  perform public.require_audit();
  select u.tenant_id into context
    from public.users u left join public.tenants t on t.id = u.tenant_id
   where u.id = p_user_id and u.active and (u.tenant_id is null or t.deleted_at is null)
     for update of u;
  if not found then
    return false;
  end if;
  update public.password_credentials c
     set consecutive_failures = 0, window_started_at = null, locked_until = null, last_used_at = p_now,
         password_hash = coalesce(p_new_hash, c.password_hash)
   where c.user_id = p_user_id and c.password_hash = p_verified_hash;
  if not found then
    return false;
  end if;
  update public.users u set last_login_at = p_now where u.id = p_user_id;
  insert into public.sessions (id, user_id, tenant_context, created_at, last_seen_at, absolute_expiry, idle_expiry,
                               ip_created, user_agent)
  values (p_session_id, p_user_id, context, p_now, p_now, p_absolute_expiry, p_idle_expiry, p_ip, p_user_agent);
  return true;
end
$$;

-- The session of a cookie, if it lives at this host; slides its idle expiry, at most once in p_touch_ms.
create function public.session_resolve(
  p_id uuid, p_slug text, p_now timestamptz, p_idle_ms double precision, p_touch_ms double precision
) returns table (
  user_id uuid, email text, display_name text, role text, tenant_id uuid, tenant_slug text,
  tenant_display_name text, must_change boolean, absolute_expiry timestamptz, idle_expiry timestamptz,
  pinned_id uuid, pinned_slug text, pinned_display_name text, pinned_until timestamptz
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  live record;
begin
  select u.id, u.email, u.display_name, u.role, u.tenant_id, t.slug, t.display_name as tenant_name, coalesce(c.must_change, false) as must_change,
         s.absolute_expiry, s.idle_expiry, s.last_seen_at, s.pinned_until,
         p.id as pin, p.slug as pin_slug, p.display_name as pin_name
    into live
    from public.sessions s
    join public.users u on u.id = s.user_id
    left join public.password_credentials c on c.user_id = u.id
    left join public.tenants t on t.id = u.tenant_id
    left join public.tenants p
      on u.tenant_id is null and s.pinned_until > p_now and p.id = s.tenant_context and p.deleted_at is null
   where s.id = p_id and s.revoked_at is null and s.absolute_expiry > p_now and s.idle_expiry > p_now and u.active
     and case when p_slug is null then u.tenant_id is null else t.slug = p_slug and t.deleted_at is null end;
  if not found then
    return;
  end if;
  if live.last_seen_at <= p_now - p_touch_ms * interval '1 millisecond' then
    live.idle_expiry := p_now + p_idle_ms * interval '1 millisecond';
    update public.sessions s set last_seen_at = p_now, idle_expiry = live.idle_expiry
     where s.id = p_id and s.revoked_at is null and s.last_seen_at = live.last_seen_at;
  end if;
  return query select live.id, live.email, live.display_name, live.role, live.tenant_id, live.slug, live.tenant_name, live.must_change,
    live.absolute_expiry, live.idle_expiry, live.pin, live.pin_slug, live.pin_name,
    case when live.pin is not null then live.pinned_until end;
end
$$;

-- Ends a session; answers whose it was, if it lived.
create function public.session_revoke(p_id uuid, p_now timestamptz)
returns table (user_id uuid, tenant_id uuid, role text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform public.require_audit();
  return query
    update public.sessions s set revoked_at = p_now
      from public.users u
     where s.id = p_id and u.id = s.user_id
       and s.revoked_at is null and s.absolute_expiry > p_now and s.idle_expiry > p_now
    returning u.id, u.tenant_id, u.role;
end
$$;

-- As login_reserve, for somebody who is signed in and types the old password.
create function public.credential_reserve(
  p_user_id uuid, p_now timestamptz, p_limit integer, p_window_ms double precision, p_lock_ms double precision
) returns table (password_hash text, refused boolean, attempt integer, locked_until timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  credential public.password_credentials;
  outcome record;
begin
  perform public.require_audit();
  select * into credential from public.password_credentials c where c.user_id = p_user_id for update;
  if not found then
    return;
  end if;
  select * into outcome from public.next_attempt(credential.consecutive_failures, credential.window_started_at,
    credential.locked_until, p_now, p_limit, p_window_ms, p_lock_ms);
  if not outcome.refused then
    update public.password_credentials c
       set consecutive_failures = outcome.failures, window_started_at = outcome.window_started, locked_until = outcome.locked
     where c.user_id = p_user_id;
  end if;
  return query select credential.password_hash, outcome.refused, outcome.failures, outcome.locked;
end
$$;

-- The new password takes the place of exactly the one that was verified; the user's other sessions end.
create function public.password_change(
  p_user_id uuid, p_session_id uuid, p_verified_hash text, p_new_hash text, p_now timestamptz
) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform public.require_audit();
  update public.password_credentials c
     set password_hash = p_new_hash, must_change = false, updated_at = p_now,
         consecutive_failures = 0, window_started_at = null, locked_until = null
   where c.user_id = p_user_id and c.password_hash = p_verified_hash;
  if not found then
    return false;
  end if;
  update public.sessions s set revoked_at = p_now
   where s.user_id = p_user_id and s.id <> p_session_id and s.revoked_at is null;
  return true;
end
$$;

-- The first password of a user of the current tenant.
create function public.create_credential(p_user_id uuid, p_password_hash text, p_must_change boolean, p_now timestamptz)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform public.require_audit();
  if not exists (
    select from public.users u
     where u.id = p_user_id
       and u.tenant_id = nullif(pg_catalog.current_setting('app.current_tenant_id', true), '')::uuid
  ) then
    raise exception 'the user is not one of the current tenant' using errcode = 'insufficient_privilege';
  end if;
  insert into public.password_credentials (user_id, password_hash, must_change, updated_at)
  values (p_user_id, p_password_hash, p_must_change, p_now);
end
$$;

-- The first administrator, while there is no MSSP user yet; true when it was made.
create function public.bootstrap_admin(
  p_user_id uuid, p_email text, p_display_name text, p_password_hash text, p_must_change boolean, p_now timestamptz
) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_catalog.pg_advisory_xact_lock(712340003);
  if exists (select from public.users u where u.tenant_id is null) then
    return false;
  end if;
  insert into public.users (id, tenant_id, email, display_name, role, created_at, updated_at)
  values (p_user_id, null, p_email, p_display_name, 'platform_admin', p_now, p_now);
  insert into public.password_credentials (user_id, password_hash, must_change, updated_at)
  values (p_user_id, p_password_hash, p_must_change, p_now);
  return true;
end
$$;

-- Forgets what unknown addresses did: what is long over, and the oldest beyond p_keep.
create function public.login_sweep(p_now timestamptz, p_over_ms double precision, p_keep integer) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  gone integer;
  surplus integer;
begin
  delete from public.login_shadows s where s.updated_at < p_now - p_over_ms * interval '1 millisecond';
  get diagnostics gone = row_count;
  select count(*) - p_keep into surplus from public.login_shadows;
  if surplus > 0 then
    delete from public.login_shadows s where s.email_hmac in (
      select o.email_hmac from public.login_shadows o order by o.updated_at limit surplus
    );
    gone := gone + surplus;
  end if;
  return gone;
end
$$;

-- Audit retention (S "Events" 2): 90 days, by the database's own clock, whatever the caller believes.
create function public.prune_audit(p_limit integer) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  horizon constant timestamptz := pg_catalog.clock_timestamp() - interval '90 days';
  gone integer;
  total integer;
begin
  delete from public.audit_log a where a.id in (
    select o.id from public.audit_log o where o."timestamp" < horizon order by o."timestamp" limit p_limit
  );
  get diagnostics total = row_count;
  delete from public.tenant_lifecycle_events l where (l.tenant_id, l.id) in (
    select o.tenant_id, o.id from public.tenant_lifecycle_events o
     where o.at < horizon and not exists (select from public.tenants t where t.id = o.tenant_id) limit p_limit
  );
  get diagnostics gone = row_count;
  return total + gone;
end
$$;

revoke execute on all functions in schema public from public;
grant execute on function
  public.append_install_audit(uuid, timestamptz, text, text, text, text, text, jsonb, jsonb, text, jsonb),
  public.login_reserve(text, bytea, text, timestamptz, integer, double precision, double precision),
  public.login_release(uuid, bytea, integer),
  public.login_succeed(uuid, text, text, uuid, timestamptz, timestamptz, timestamptz, inet, text),
  public.session_resolve(uuid, text, timestamptz, double precision, double precision),
  public.session_revoke(uuid, timestamptz),
  public.credential_reserve(uuid, timestamptz, integer, double precision, double precision),
  public.password_change(uuid, uuid, text, text, timestamptz),
  public.create_credential(uuid, text, boolean, timestamptz),
  public.login_sweep(timestamptz, double precision, integer)
  to service_app;
grant execute on function public.prune_audit(integer) to service_mssp;

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

-- After the hand-over, which would have turned this grant into the new owner's.
set local role service_definer;
grant execute on function public.bootstrap_admin(uuid, text, text, text, boolean, timestamptz) to service_admin;
reset role;

-- The roles of the service's database and what they may do with the database itself.
--
-- Run once by a superuser (or a role with CREATEROLE and BYPASSRLS), connected to the service's own, empty database,
-- before the first start. It may be run again at any time. It sets no passwords: the service's init step, or you, do
-- that afterwards with ALTER ROLE ... PASSWORD for service_admin, service_app and service_mssp.
--
--   service_admin    owns every object and runs the migrations; row-level security holds for it, too
--   service_app      the API at work: row-level security holds, one tenant for each transaction
--   service_mssp     the API across tenants: bypasses row-level security, enters only through audited code
--   service_definer  nobody logs in as it: it owns the functions for logins, sessions and pruning

select pg_catalog.pg_advisory_lock(712340001);

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'service_admin') then
    create role service_admin login;
  end if;
  if not exists (select from pg_catalog.pg_roles where rolname = 'service_app') then
    create role service_app login;
  end if;
  if not exists (select from pg_catalog.pg_roles where rolname = 'service_mssp') then
    create role service_mssp login bypassrls;
  end if;
  if not exists (select from pg_catalog.pg_roles where rolname = 'service_definer') then
    create role service_definer nologin bypassrls;
  end if;
end
$$;

alter role service_admin set lock_timeout = '60s';
alter role service_admin set idle_in_transaction_session_timeout = '5min';
alter role service_app set statement_timeout = '15s';
alter role service_app set lock_timeout = '5s';
alter role service_app set idle_in_transaction_session_timeout = '15s';
alter role service_mssp set statement_timeout = '30s';
alter role service_mssp set lock_timeout = '5s';
alter role service_mssp set idle_in_transaction_session_timeout = '15s';
-- A client that a network has swallowed keeps the locks of its transaction until the server gives it up: after 30 seconds.
alter role service_app set tcp_keepalives_idle = '15s';
alter role service_app set tcp_keepalives_interval = '5s';
alter role service_app set tcp_keepalives_count = 3;
alter role service_mssp set tcp_keepalives_idle = '15s';
alter role service_mssp set tcp_keepalives_interval = '5s';
alter role service_mssp set tcp_keepalives_count = 3;

-- Migrations hand functions to service_definer and change data as service_mssp, but never by accident.
grant service_definer to service_admin with inherit false, set true;
grant service_mssp to service_admin with inherit false, set true;

do $$
begin
  execute pg_catalog.format('alter database %I owner to service_admin', pg_catalog.current_database());
  execute pg_catalog.format('revoke all on database %I from public', pg_catalog.current_database());
  execute pg_catalog.format('grant connect on database %I to service_app, service_mssp', pg_catalog.current_database());
end
$$;

revoke create on schema public from public;
grant usage on schema public to service_app, service_mssp, service_definer;

select pg_catalog.pg_advisory_unlock(712340001);

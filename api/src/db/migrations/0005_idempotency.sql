CREATE TABLE "idempotency_keys" (
	"principal_id" uuid NOT NULL,
	"request_hash" "bytea" NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"status" integer,
	"answer" jsonb,
	CONSTRAINT "idempotency_keys_principal_id_request_hash_pk" PRIMARY KEY("principal_id","request_hash")
);

CREATE INDEX "idempotency_keys_expiry" ON "idempotency_keys" USING btree ("expires_at");
-- What was answered to requests with an Idempotency-Key (decision 1.7). Answers hold the data of tenants: nobody has a
-- grant, and these functions open exactly one principal's request at a time.
grant select, insert, update, delete on public.idempotency_keys to service_definer;

-- `new`: the caller does the work and says how it ended. A key is free again when it has expired, or when whoever
-- began has not ended for too long.
create function public.idempotency_begin(
  p_principal_id uuid, p_request_hash bytea, p_body_hash bytea, p_now timestamptz, p_expires_at timestamptz,
  p_abandoned_before timestamptz
) returns table (outcome text, status integer, answer jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  known public.idempotency_keys;
begin
  insert into public.idempotency_keys as k (principal_id, request_hash, body_hash, started_at, expires_at)
  values (p_principal_id, p_request_hash, p_body_hash, p_now, p_expires_at)
  on conflict (principal_id, request_hash) do update
    set body_hash = excluded.body_hash, started_at = excluded.started_at, expires_at = excluded.expires_at,
        status = null, answer = null
    where k.expires_at <= p_now
       or (k.status is null and k.started_at < p_abandoned_before and k.body_hash = excluded.body_hash);
  if found then
    return query select 'new'::text, null::integer, null::jsonb;
    return;
  end if;
  select * into known from public.idempotency_keys k
   where k.principal_id = p_principal_id and k.request_hash = p_request_hash;
  if not found then
    -- Set free a moment ago: whoever asks again gets it.
    return query select 'running'::text, null::integer, null::jsonb;
    return;
  end if;
  return query select
    case when known.body_hash is distinct from p_body_hash then 'reused'
         when known.status is null then 'running'
         else 'done' end,
    known.status, known.answer;
end
$$;

create function public.idempotency_end(
  p_principal_id uuid, p_request_hash bytea, p_started_at timestamptz, p_status integer, p_answer jsonb
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_status is null then
    delete from public.idempotency_keys k
     where k.principal_id = p_principal_id and k.request_hash = p_request_hash and k.started_at = p_started_at
       and k.status is null;
  else
    update public.idempotency_keys k set status = p_status, answer = p_answer
     where k.principal_id = p_principal_id and k.request_hash = p_request_hash and k.started_at = p_started_at;
  end if;
end
$$;

create function public.idempotency_sweep(p_now timestamptz) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  gone integer;
begin
  delete from public.idempotency_keys k where k.expires_at <= p_now;
  get diagnostics gone = row_count;
  return gone;
end
$$;

revoke execute on function
  public.idempotency_begin(uuid, bytea, bytea, timestamptz, timestamptz, timestamptz),
  public.idempotency_end(uuid, bytea, timestamptz, integer, jsonb),
  public.idempotency_sweep(timestamptz)
  from public;
grant execute on function
  public.idempotency_begin(uuid, bytea, bytea, timestamptz, timestamptz, timestamptz),
  public.idempotency_end(uuid, bytea, timestamptz, integer, jsonb),
  public.idempotency_sweep(timestamptz)
  to service_app;

grant create on schema public to service_definer;
alter function public.idempotency_begin(uuid, bytea, bytea, timestamptz, timestamptz, timestamptz) owner to service_definer;
alter function public.idempotency_end(uuid, bytea, timestamptz, integer, jsonb) owner to service_definer;
alter function public.idempotency_sweep(timestamptz) owner to service_definer;
revoke create on schema public from service_definer;

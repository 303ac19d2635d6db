CREATE TABLE "audit_log" (
	"id" uuid PRIMARY KEY NOT NULL,
	"timestamp" timestamp with time zone DEFAULT now() NOT NULL,
	"tenant_id" uuid,
	"actor_principal" text NOT NULL,
	"actor_id" text NOT NULL,
	"action" text NOT NULL,
	"resource_type" text NOT NULL,
	"resource_id" text,
	"before" jsonb,
	"after" jsonb,
	"acting_as" uuid,
	"request_id" text,
	"details" jsonb,
	CONSTRAINT "audit_log_actor_principal" CHECK ("audit_log"."actor_principal" in ('User', 'Worker', 'System', 'Adapter'))
);
--> statement-breakpoint
CREATE TABLE "events" (
	"id" uuid NOT NULL,
	"tenant_id" uuid NOT NULL,
	"aggregate_type" text NOT NULL,
	"aggregate_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	"kind" text NOT NULL,
	"payload" jsonb NOT NULL,
	"idempotency_key" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "events_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "events_idempotency_key" UNIQUE("tenant_id","idempotency_key"),
	CONSTRAINT "events_aggregate_seq" UNIQUE("tenant_id","aggregate_type","aggregate_id","seq")
);
--> statement-breakpoint
CREATE TABLE "login_shadows" (
	"email_hmac" "bytea" PRIMARY KEY NOT NULL,
	"consecutive_failures" integer DEFAULT 0 NOT NULL,
	"window_started_at" timestamp with time zone,
	"locked_until" timestamp with time zone,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "login_shadows_failures" CHECK ("login_shadows"."consecutive_failures" >= 0)
);
--> statement-breakpoint
CREATE TABLE "password_credentials" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"password_hash" text NOT NULL,
	"must_change" boolean DEFAULT false NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp with time zone,
	"consecutive_failures" integer DEFAULT 0 NOT NULL,
	"window_started_at" timestamp with time zone,
	"locked_until" timestamp with time zone,
	CONSTRAINT "password_credentials_hash" CHECK ("password_credentials"."password_hash" like '$argon2id$%'),
	CONSTRAINT "password_credentials_failures" CHECK ("password_credentials"."consecutive_failures" >= 0)
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"tenant_context" uuid,
	"pinned_until" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"absolute_expiry" timestamp with time zone NOT NULL,
	"idle_expiry" timestamp with time zone NOT NULL,
	"revoked_at" timestamp with time zone,
	"ip_created" "inet",
	"user_agent" text
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid,
	"email" text NOT NULL,
	"display_name" text NOT NULL,
	"role" text NOT NULL,
	"active" boolean DEFAULT true NOT NULL,
	"last_login_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "users_email_lower" CHECK ("users"."email" = lower("users"."email")),
	CONSTRAINT "users_side" CHECK (case when "users"."tenant_id" is null then "users"."role" in ('platform_admin', 'mssp_admin', 'mssp_manager', 'analyst') else "users"."role" in ('tenant_admin', 'tenant_manager', 'tenant_analyst', 'customer_viewer') end)
);
--> statement-breakpoint
CREATE TABLE "install_settings" (
	"key" text PRIMARY KEY NOT NULL,
	"value" jsonb NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "organization" (
	"install_id" uuid PRIMARY KEY NOT NULL,
	"mssp_id" uuid NOT NULL,
	"mssp_name" text NOT NULL,
	"install_label" text NOT NULL,
	"license_jwt" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "adapter_checkpoints" (
	"tenant_id" uuid NOT NULL,
	"source" text NOT NULL,
	"cursor_ts" timestamp with time zone,
	"cursor_event_id" text,
	"batch_seq" bigint DEFAULT 0 NOT NULL,
	"dropped_total" bigint DEFAULT 0 NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "adapter_checkpoints_tenant_id_source_pk" PRIMARY KEY("tenant_id","source")
);
--> statement-breakpoint
CREATE TABLE "branding_configs" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"app_name" text,
	"favicon_url" text,
	"logo_url" text,
	"primary_color" text,
	"secondary_color" text,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "integration_configs" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"llm_provider" text NOT NULL,
	"llm_base_url" text NOT NULL,
	"llm_model" text NOT NULL,
	"llm_api_key_plain" text,
	"external_cortex_url" text DEFAULT '' NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "reconcile_queue" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"marked_at" timestamp with time zone DEFAULT now() NOT NULL,
	"not_before" timestamp with time zone DEFAULT now() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"last_error" text
);
--> statement-breakpoint
CREATE TABLE "tenant_heartbeats" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"version" text NOT NULL,
	"health" text NOT NULL,
	"metrics" jsonb,
	"last_heartbeat_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tenant_installations" (
	"id" uuid NOT NULL,
	"tenant_id" uuid NOT NULL,
	"release_name" text NOT NULL,
	"namespace" text NOT NULL,
	"chart_ref" text NOT NULL,
	"chart_version" text,
	"desired_chart_version" text NOT NULL,
	"revision" integer,
	"status" text,
	"values_digest" text,
	"manifest_digest" text,
	"installed_at" timestamp with time zone,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_error" text,
	CONSTRAINT "tenant_installations_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "tenant_installations_one" UNIQUE("tenant_id")
);
--> statement-breakpoint
CREATE TABLE "tenant_lifecycle_events" (
	"id" uuid NOT NULL,
	"tenant_id" uuid NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"kind" text NOT NULL,
	"from_state" text,
	"to_state" text,
	"actor_id" text NOT NULL,
	"details" jsonb NOT NULL,
	"cr_uid" text,
	"journal_seq" bigint,
	CONSTRAINT "tenant_lifecycle_events_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "tenant_lifecycle_events_kind" CHECK ("tenant_lifecycle_events"."kind" in ('tenant.created', 'step.started', 'step.done', 'step.failed', 'rolled_back', 'retry.requested', 'state.changed', 'config.revised', 'key.rotated', 'token.refreshed', 'upgrade.started', 'upgrade.done', 'upgrade.failed', 'edge_ports.assigned', 'namespace.missing', 'decommission.requested', 'decommission.cancelled', 'uninstalled', 'namespace.deleted', 'deleted')),
	CONSTRAINT "tenant_lifecycle_events_from" CHECK ("tenant_lifecycle_events"."from_state" in ('pending', 'provisioning', 'active', 'degraded', 'suspended', 'decommissioning')),
	CONSTRAINT "tenant_lifecycle_events_to" CHECK ("tenant_lifecycle_events"."to_state" in ('pending', 'provisioning', 'active', 'degraded', 'suspended', 'decommissioning'))
);
--> statement-breakpoint
CREATE TABLE "tenant_secrets" (
	"id" uuid NOT NULL,
	"tenant_id" uuid NOT NULL,
	"namespace" text NOT NULL,
	"name" text NOT NULL,
	"version_label" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tenant_secrets_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "tenant_secrets_name" UNIQUE("tenant_id","namespace","name")
);
--> statement-breakpoint
CREATE TABLE "tenant_statuses" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"cr_uid" text,
	"observed_revision" bigint DEFAULT 0 NOT NULL,
	"conditions" jsonb NOT NULL,
	"steps" jsonb NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tenants" (
	"id" uuid PRIMARY KEY NOT NULL,
	"slug" text NOT NULL,
	"display_name" text NOT NULL,
	"profile" text NOT NULL,
	"placement" text NOT NULL,
	"state" text NOT NULL,
	"state_reason" text,
	"state_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"suspended_from" text,
	"decommissioned_from" text,
	"error" jsonb,
	"generation" integer DEFAULT 1 NOT NULL,
	"spec_revision" bigint DEFAULT 1 NOT NULL,
	"state_revision" bigint DEFAULT 1 NOT NULL,
	"secrets_revision" integer DEFAULT 1 NOT NULL,
	"retry_token" text DEFAULT '' NOT NULL,
	"token_version" integer DEFAULT 1 NOT NULL,
	"config" jsonb NOT NULL,
	"grace_until" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"purge_after" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tenants_state" CHECK ("tenants"."state" in ('pending', 'provisioning', 'active', 'degraded', 'suspended', 'decommissioning')),
	CONSTRAINT "tenants_suspended_from" CHECK ("tenants"."suspended_from" in ('pending', 'provisioning', 'active', 'degraded', 'suspended', 'decommissioning')),
	CONSTRAINT "tenants_decommissioned_from" CHECK ("tenants"."decommissioned_from" in ('pending', 'provisioning', 'active', 'degraded', 'suspended', 'decommissioning')),
	CONSTRAINT "tenants_profile" CHECK ("tenants"."profile" in ('pilot', 'small-dev')),
	CONSTRAINT "tenants_placement" CHECK ("tenants"."placement" in ('cluster', 'remote'))
);
--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_tenant" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "password_credentials" ADD CONSTRAINT "password_credentials_user" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_tenant" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "adapter_checkpoints" ADD CONSTRAINT "adapter_checkpoints_tenant" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "branding_configs" ADD CONSTRAINT "branding_configs_tenant" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "integration_configs" ADD CONSTRAINT "integration_configs_tenant" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reconcile_queue" ADD CONSTRAINT "reconcile_queue_tenant" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tenant_heartbeats" ADD CONSTRAINT "tenant_heartbeats_tenant" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tenant_installations" ADD CONSTRAINT "tenant_installations_tenant" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tenant_secrets" ADD CONSTRAINT "tenant_secrets_tenant" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tenant_statuses" ADD CONSTRAINT "tenant_statuses_tenant" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_log_newest" ON "audit_log" USING btree ("timestamp" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "audit_log_of_tenant" ON "audit_log" USING btree ("tenant_id","timestamp" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "events_newest" ON "events" USING btree ("tenant_id","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "login_shadows_oldest" ON "login_shadows" USING btree ("updated_at");--> statement-breakpoint
CREATE INDEX "sessions_of_user" ON "sessions" USING btree ("user_id","revoked_at");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email" ON "users" USING btree (lower("email"));--> statement-breakpoint
CREATE INDEX "users_newest" ON "users" USING btree ("tenant_id","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "reconcile_queue_due" ON "reconcile_queue" USING btree ("not_before");--> statement-breakpoint
CREATE UNIQUE INDEX "tenant_lifecycle_events_journal" ON "tenant_lifecycle_events" USING btree ("tenant_id","cr_uid","journal_seq") WHERE "tenant_lifecycle_events"."cr_uid" is not null;--> statement-breakpoint
CREATE INDEX "tenant_lifecycle_events_newest" ON "tenant_lifecycle_events" USING btree ("tenant_id","at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE UNIQUE INDEX "tenants_slug_live" ON "tenants" USING btree ("slug") WHERE "tenants"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "tenants_newest" ON "tenants" USING btree ("created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);
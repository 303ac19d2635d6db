{{/* The address of the database, without who enters it. */}}
{{- define "service-system.databaseUrl" -}}
{{- if .Values.postgres.enabled -}}
postgres://{{ include "service-system.fullname" . }}-postgres.{{ .Release.Namespace }}.svc:5432/service
{{- else -}}
{{- $external := .Values.postgres.external -}}
{{- $host := required "postgres.external.host is needed with postgres.enabled=false" $external.host -}}
{{- $mode := $external.sslMode -}}
postgres://{{ contains ":" $host | ternary (printf "[%s]" $host) $host }}:{{ $external.port | int64 }}/{{ $external.database }}{{ if ne $mode "disable" }}?sslmode={{ $mode }}{{ end }}
{{- end -}}
{{- end -}}

{{/* Takes (list $ role …): address and files of the credentials of each role. */}}
{{- define "service-system.databaseEnv" -}}
{{- $root := index . 0 -}}
{{- $files := include "service-system.secretFiles" $root -}}
{{- range rest . }}
- name: SERVICE_DATABASE_{{ upper . }}_URL
  value: {{ include "service-system.databaseUrl" $root | quote }}
- name: SERVICE_DATABASE_{{ upper . }}_USER_FILE
  value: {{ $files }}/{{ . }}/user
- name: SERVICE_DATABASE_{{ upper . }}_PASSWORD_FILE
  value: {{ $files }}/{{ . }}/password
{{- end }}
{{- if and (not $root.Values.postgres.enabled) $root.Values.postgres.external.caSecretRef.name }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/service/database-ca/ca.crt
{{- end }}
{{- end -}}

{{- define "service-system.installEnv" -}}
- name: SERVICE_MSSP_ID
  value: {{ .Values.install.msspId | quote }}
- name: SERVICE_MSSP_NAME
  value: {{ .Values.install.msspName | quote }}
- name: SERVICE_INSTALL_ID
  value: {{ .Values.install.installId | quote }}
- name: SERVICE_INSTALL_LABEL
  value: {{ .Values.install.installLabel | quote }}
{{- end -}}

{{/* Of every process of ours. */}}
{{- define "service-system.processEnv" -}}
- name: NODE_ENV
  value: production
- name: HOME
  value: /tmp
- name: SERVICE_LOG_LEVEL
  value: {{ .Values.api.logLevel }}
- name: SERVICE_INSTALL_NAMESPACE
  value: {{ .Release.Namespace }}
{{- end -}}

{{- define "service-system.scheme" -}}
{{- .Values.auth.cookieSecure | ternary "https" "http" -}}
{{- end -}}

{{- define "service-system.msspOrigins" -}}
{{- with .Values.auth.publicOriginOverride -}}
{{- . -}}
{{- else -}}
{{- $host := required "ingress.hostnames.mssp or auth.publicOriginOverride is needed: the API answers at known hosts only" .Values.ingress.hostnames.mssp -}}
{{- include "service-system.scheme" . }}://{{ $host }}
{{- end -}}
{{- end -}}

{{- define "service-system.customerOrigin" -}}
{{- with .Values.auth.publicCustomerOriginOverride -}}
{{- . -}}
{{- else -}}
{{- $host := required "ingress.hostnames.customer or auth.publicCustomerOriginOverride is needed: the API answers at known hosts only" .Values.ingress.hostnames.customer -}}
{{- include "service-system.scheme" . }}://{{ $host }}
{{- end -}}
{{- end -}}

{{/* Of whoever runs the operator. */}}
{{- define "service-system.operatorEnv" -}}
{{- $own := .Values.orchestrator -}}
- name: SERVICE_TENANT_ROLE
  value: {{ include "service-system.tenantRole" . }}
- name: SERVICE_OPERATOR_ACCOUNT
  value: {{ include "service-system.operatorAccount" . }}
- name: SERVICE_ADAPTER_API_URL
  value: {{ $own.adapterApiUrl | default (printf "http://%s-api.%s.svc:%d" (include "service-system.fullname" .) .Release.Namespace (int64 .Values.api.service.port)) | quote }}
{{- with $own.indexerUrl }}
- name: SERVICE_ADAPTER_INDEXER_URL
  value: {{ . | quote }}
{{- end }}
{{- with .Values.networkPolicies }}
- name: SERVICE_TENANT_DNS_NAMESPACE
  value: {{ .dnsNamespace | default "none" | quote }}
{{- with .tenantLlmCidrs }}
- name: SERVICE_TENANT_LLM_CIDRS
  value: {{ join "," . | quote }}
{{- end }}
{{- with .tenantIndexerCidrs }}
- name: SERVICE_TENANT_INDEXER_CIDRS
  value: {{ join "," . | quote }}
{{- end }}
{{- end }}
- name: SERVICE_OPERATOR_CONCURRENCY
  value: {{ $own.concurrency | int64 | quote }}
{{- with $own.tenantNodeSelector }}
{{- $pairs := list }}
{{- range $key, $value := . }}
{{- $pairs = append $pairs (printf "%s=%s" $key $value) }}
{{- end }}
- name: SERVICE_TENANT_NODE_SELECTOR
  value: {{ join "," $pairs | quote }}
{{- end }}
{{- end -}}

{{/* Of an operator in pods of its own. */}}
{{- define "service-system.separateOperatorEnv" -}}
{{ include "service-system.processEnv" . }}
{{ include "service-system.operatorEnv" . }}
- name: SERVICE_OPERATOR_PORT
  value: "9090"
{{- end -}}

{{- define "service-system.apiEnv" -}}
{{- $files := include "service-system.secretFiles" . -}}
{{- $provisioning := .Values.tenantProvisioning -}}
{{- $llm := .Values.defaults.llm -}}
{{ include "service-system.processEnv" . }}
- name: NODE_OPTIONS
  value: --max-old-space-size={{ .Values.api.heapMegabytes | int64 }}
- name: SERVICE_LISTEN
  value: 0.0.0.0:8080
- name: SERVICE_METRICS_LISTEN
  value: 0.0.0.0:9090
- name: SERVICE_AUTH_MODE
  value: {{ .Values.auth.mode }}
{{- if eq .Values.auth.mode "proxy" }}
- name: SERVICE_TRUSTED_HEADER_USER
  value: {{ .Values.oidc.trustedHeaderUser | quote }}
- name: SERVICE_TRUSTED_HEADER_EMAIL
  value: {{ .Values.oidc.trustedHeaderEmail | quote }}
- name: SERVICE_TRUSTED_HEADER_GROUPS
  value: {{ .Values.oidc.trustedHeaderGroups | quote }}
- name: SERVICE_TRUSTED_PROXY_CIDRS
  value: {{ join "," .Values.oidc.trustedProxyCIDRs | quote }}
{{- end }}
- name: SERVICE_COOKIE_SECURE
  value: {{ .Values.auth.cookieSecure | quote }}
- name: SERVICE_MSSP_ORIGINS
  value: {{ include "service-system.msspOrigins" . | quote }}
- name: SERVICE_CUSTOMER_ORIGIN_PATTERN
  value: {{ include "service-system.customerOrigin" . | quote }}
{{ include "service-system.installEnv" . }}
{{- include "service-system.databaseEnv" (list . "app" "mssp") }}
{{- range $kind, $name := dict "jwtSigningKey" "SERVICE_JWT_SIGNING_KEY" "adapterSigningKey" "SERVICE_ADAPTER_SIGNING_KEY" }}
- name: {{ $name }}_FILE
  value: {{ $files }}/{{ $kind }}/key
{{- if (get $.Values.secrets $kind).previousKey }}
- name: {{ $name }}_PREVIOUS_FILE
  value: {{ $files }}/{{ $kind }}/previous
{{- end }}
{{- end }}
- name: SERVICE_DEFAULT_LLM_PROVIDER
  value: {{ $llm.provider | quote }}
- name: SERVICE_DEFAULT_LLM_BASE_URL
  value: {{ $llm.baseUrl | quote }}
- name: SERVICE_DEFAULT_LLM_MODEL
  value: {{ $llm.model | quote }}
- name: SERVICE_TENANT_CHART_REF
  value: {{ $provisioning.tenantChartRef | quote }}
- name: SERVICE_TENANT_CHART_VERSION
  value: {{ $provisioning.tenantChartVersion | quote }}
- name: SERVICE_IMAGE_ADAPTER
  value: {{ include "service-system.pin" (list $provisioning.adapterImageRepo $provisioning.adapterImageTag) | quote }}
- name: SERVICE_IMAGE_RUNS_WORKER
  value: {{ include "service-system.pin" (list $provisioning.runsWorkerImageRepo $provisioning.runsWorkerImageTag) | quote }}
- name: SERVICE_IMAGE_LINUX_EP
  value: {{ include "service-system.pin" (list "" $provisioning.linuxEpImageTag) | quote }}
- name: SERVICE_OPERATOR
  value: {{ .Values.orchestrator.separate | ternary "separate" "embedded" }}
{{- if not .Values.orchestrator.separate }}
{{ include "service-system.operatorEnv" . }}
{{- end }}
{{- end -}}

{{- define "service-system.migrateEnv" -}}
{{- $files := include "service-system.secretFiles" . -}}
{{ include "service-system.processEnv" . }}
{{ include "service-system.installEnv" . }}
{{- include "service-system.databaseEnv" (concat (list . "admin") (.Values.postgres.enabled | ternary (list "superuser" "app" "mssp") list)) }}
- name: SERVICE_BOOTSTRAP_ADMIN_EMAIL_FILE
  value: {{ $files }}/bootstrap/email
- name: SERVICE_BOOTSTRAP_ADMIN_PASSWORD_FILE
  value: {{ $files }}/bootstrap/password
{{- end -}}

{{/*
What people add; a name that is set already would be refused by the API server, later and less clearly.
Takes (list $ env key), env one of apiEnv and separateOperatorEnv, key the part of the values that has the extraEnv.
*/}}
{{- define "service-system.extraEnv" -}}
{{- $root := index . 0 -}}
{{- $key := index . 2 -}}
{{- $set := dict -}}
{{- range include (printf "service-system.%s" (index . 1)) $root | fromYamlArray -}}
{{- $_ := set $set .name true -}}
{{- end -}}
{{- range (get $root.Values $key).extraEnv }}
{{- if hasKey $set .name }}
{{- fail (printf "%s.extraEnv: the chart sets %s itself" $key .name) }}
{{- end }}
{{- $_ := set $set .name true }}
- name: {{ .name }}
  value: {{ .value | quote }}
{{- end }}
{{- end -}}

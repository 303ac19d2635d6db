{{/* The Secrets that a hook makes: kind (the key in values.secrets) → name behind the release's. */}}
{{- define "service-system.secretNames" -}}
{{- if .Values.postgres.enabled }}
postgresSuperuser: postgres-superuser-creds
postgresAdmin: postgres-admin-creds
postgresApp: postgres-app-creds
postgresMssp: postgres-mssp-creds
{{- end }}
jwtSigningKey: jwt-signing-key
adapterSigningKey: adapter-signing-key
bootstrapAdmin: bootstrap-admin
llmApiKey: llm-api-key
{{- end -}}

{{/* Takes (list $ kind): the Secret of the user, or the one of the install. */}}
{{- define "service-system.secret" -}}
{{- $root := index . 0 -}}
{{- $kind := index . 1 -}}
{{- $own := get (include "service-system.secretNames" $root | fromYaml) $kind -}}
{{- with (get $root.Values.secrets $kind).existingSecret -}}
{{- . -}}
{{- else -}}
{{- if not $root.Values.secrets.generate -}}
{{- fail (printf "secrets.generate is false: set secrets.%s.existingSecret" $kind) -}}
{{- end -}}
{{- include "service-system.fullname" $root }}-{{ $own -}}
{{- end -}}
{{- end -}}

{{/* kind=name of those that are to be made. */}}
{{- define "service-system.generated" -}}
{{- $root := . -}}
{{- $pairs := list -}}
{{- range $kind, $name := include "service-system.secretNames" . | fromYaml -}}
{{- if not (get $root.Values.secrets $kind).existingSecret -}}
{{- $pairs = append $pairs (printf "%s=%s-%s" $kind (include "service-system.fullname" $root) $name) -}}
{{- end -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end -}}

{{- define "service-system.secretFiles" -}}/var/run/service{{- end -}}

{{/*
One source of a projected volume: credentials as the files <role>/user and <role>/password.
Takes (list $ role), role one of superuser, admin, app, mssp.
*/}}
{{- define "service-system.credentials" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $external := $root.Values.postgres.external -}}
- secret:
    {{- if $root.Values.postgres.enabled }}
    {{- $kind := printf "postgres%s" (title $role) }}
    {{- $own := get $root.Values.secrets $kind }}
    name: {{ include "service-system.secret" (list $root $kind) }}
    items:
      - key: {{ $own.userKey | quote }}
        path: {{ $role }}/user
      - key: {{ $own.passwordKey | quote }}
        path: {{ $role }}/password
    {{- else }}
    name: {{ required "postgres.external.existingSecret is needed with postgres.enabled=false" $external.existingSecret }}
    items:
      - key: {{ get $external.keys (printf "%sUser" $role) | quote }}
        path: {{ $role }}/user
      - key: {{ get $external.keys (printf "%sPassword" $role) | quote }}
        path: {{ $role }}/password
    {{- end }}
{{- end -}}

{{/* Takes (list $ kind): a signing key as the file <kind>/key, the former one as <kind>/previous. */}}
{{- define "service-system.signingKey" -}}
{{- $root := index . 0 -}}
{{- $kind := index . 1 -}}
{{- $own := get $root.Values.secrets $kind -}}
- secret:
    name: {{ include "service-system.secret" . }}
    items:
      - key: {{ $own.key | quote }}
        path: {{ $kind }}/key
      {{- with $own.previousKey }}
      - key: {{ . | quote }}
        path: {{ $kind }}/previous
      {{- end }}
{{- end -}}

{{/* Of the running API. */}}
{{- define "service-system.runtimeSecrets" -}}
{{ include "service-system.credentials" (list . "app") }}
{{ include "service-system.credentials" (list . "mssp") }}
{{ include "service-system.signingKey" (list . "jwtSigningKey") }}
{{ include "service-system.signingKey" (list . "adapterSigningKey") }}
{{- end -}}

{{/* Of the init step alone; the passwords of the other roles are here because it sets them. */}}
{{- define "service-system.initSecrets" -}}
{{- $admin := .Values.secrets.bootstrapAdmin -}}
{{ include "service-system.credentials" (list . "admin") }}
{{- if .Values.postgres.enabled }}
{{ include "service-system.credentials" (list . "superuser") }}
{{ include "service-system.credentials" (list . "app") }}
{{ include "service-system.credentials" (list . "mssp") }}
{{- end }}
- secret:
    name: {{ include "service-system.secret" (list . "bootstrapAdmin") }}
    items:
      - key: {{ $admin.emailKey | quote }}
        path: bootstrap/email
      - key: {{ $admin.passwordKey | quote }}
        path: bootstrap/password
{{- end -}}

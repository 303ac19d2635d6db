{{- define "service-tenant.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Begins the names of all objects; leaves room for a component behind it. */}}
{{- define "service-tenant.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 46 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "service-tenant.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 46 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 46 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Immutable in workloads: nothing in here may change with a version. Takes (dict "root" $ "component" "…"). */}}
{{- define "service-tenant.selectorLabels" -}}
app.kubernetes.io/name: {{ include "service-tenant.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Of pods: without versions, so that an upgrade restarts only what it changes. */}}
{{- define "service-tenant.podLabels" -}}
{{ include "service-tenant.selectorLabels" . }}
app.kubernetes.io/part-of: service
{{- end -}}

{{- define "service-tenant.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "service-tenant.podLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end -}}

{{/* Takes the image's values and the key that it is named by in a failure. */}}
{{- define "service-tenant.image" -}}
{{- $image := .image -}}
{{- if not (or $image.tag $image.digest) -}}
{{- fail (printf "%s needs a tag or a digest" .key) -}}
{{- end -}}
{{- $image.repository -}}
{{- with $image.tag }}:{{ . }}{{ end -}}
{{- with $image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* Pod Security "restricted", spelled out. */}}
{{- define "service-tenant.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.podSecurity.runAsUser | int64 }}
runAsGroup: {{ .Values.podSecurity.runAsGroup | int64 }}
fsGroup: {{ .Values.podSecurity.fsGroup | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "service-tenant.containerSecurityContext" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop:
    - ALL
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* The port of an address, the one of its scheme when it names none. */}}
{{- define "service-tenant.urlPort" -}}
{{- $url := urlParse . -}}
{{- if regexMatch ":[0-9]+$" $url.host -}}
{{- regexFind "[0-9]+$" $url.host -}}
{{- else -}}
{{- eq $url.scheme "https" | ternary "443" "80" -}}
{{- end -}}
{{- end -}}

{{/* The host of an address as a range, when it is an address literal; else empty: policies know no host names. */}}
{{- define "service-tenant.urlCidr" -}}
{{- $host := (urlParse .).hostname -}}
{{- if regexMatch "^[0-9]{1,3}([.][0-9]{1,3}){3}$" $host -}}
{{- $host }}/32
{{- else if contains ":" $host -}}
{{- $host }}/128
{{- end -}}
{{- end -}}

{{/* The same, of public addresses alone: not of pods, nodes, the cluster's API or the metadata of a cloud. */}}
{{- define "service-tenant.publicUrlCidr" -}}
{{- $cidr := include "service-tenant.urlCidr" . -}}
{{- $inward := `^(0|10|127|169[.]254|192[.]168|172[.](1[6-9]|2[0-9]|3[01])|100[.](6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])|22[4-9]|2[3-5][0-9])[.]` -}}
{{- if contains ":" $cidr -}}
{{- if regexMatch `^[23][0-9a-fA-F]{3}:` $cidr -}}
{{- $cidr -}}
{{- end -}}
{{- else if not (regexMatch $inward $cidr) -}}
{{- $cidr -}}
{{- end -}}
{{- end -}}

{{/* Egress to what is no pod. Takes (dict "url" … "cidrs" …), with "public" for an address that the tenant chooses. */}}
{{- define "service-tenant.egressOutside" -}}
{{- $ranges := .cidrs -}}
{{- $literal := .public | default false | ternary "service-tenant.publicUrlCidr" "service-tenant.urlCidr" -}}
{{- with include $literal .url -}}
{{- $ranges = append $ranges . | uniq -}}
{{- end -}}
{{- if $ranges -}}
- to:
    {{- range $ranges }}
    - ipBlock:
        cidr: {{ . }}
    {{- end }}
  ports:
    - protocol: TCP
      port: {{ include "service-tenant.urlPort" .url }}
{{- end -}}
{{- end -}}

{{/* What all pods have in common. Takes (dict "root" $ "component" "…" "nodeSelector" …). */}}
{{- define "service-tenant.podCommon" -}}
serviceAccountName: {{ include "service-tenant.fullname" .root }}-{{ .component }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Of a pod that does not talk to the cluster: it may do nothing there. Takes (dict "root" $ "component" "…"). */}}
{{- define "service-tenant.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "service-tenant.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" . | nindent 4 }}
automountServiceAccountToken: false
{{- end -}}

{{/* One key of a Secret as a variable, for images that read nothing else. Takes (dict "name" … "secret" … "key" …). */}}
{{- define "service-tenant.secretEnv" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end -}}

{{- define "service-system.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Begins the names of all objects; leaves room for the longest name of a Secret behind it. */}}
{{- define "service-system.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 38 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "service-system.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 38 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 38 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Immutable in workloads: nothing in here may change with a version. Takes (dict "root" $ "component" "…"). */}}
{{- define "service-system.selectorLabels" -}}
app.kubernetes.io/name: {{ include "service-system.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "service-system.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "service-system.selectorLabels" . }}
app.kubernetes.io/part-of: service
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
Metadata of an object: (dict "root" $ "component" "api"), with "name" for another one than <fullname>-<component>,
"cluster" for what has no namespace, "namespace" for another one, "labels" and "annotations" for more of them.
*/}}
{{- define "service-system.metadata" -}}
{{- $annotations := merge (dict) (.annotations | default dict) .root.Values.commonAnnotations -}}
name: {{ .name | default (printf "%s-%s" (include "service-system.fullname" .root) .component) }}
{{- if not .cluster }}
namespace: {{ .namespace | default .root.Release.Namespace }}
{{- end }}
labels:
  {{- include "service-system.labels" . | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Metadata of a pod: without versions. Takes the values of its "workload" besides "root" and "component". */}}
{{- define "service-system.podMetadata" -}}
labels:
  {{- include "service-system.selectorLabels" . | nindent 2 }}
  app.kubernetes.io/part-of: service
  {{- with .root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with (.workload | default dict).podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with (.workload | default dict).podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "service-system.registry" -}}
{{- with . }}{{ . }}/{{ end -}}
{{- end -}}

{{/* Our own image, for everything but the database. */}}
{{- define "service-system.image" -}}
{{- $image := .Values.image -}}
{{- include "service-system.registry" ($image.registry | default .Values.global.imageRegistry) -}}
{{- $image.repository }}{{ with $image.tag | default .Chart.AppVersion }}{{ hasPrefix "@" . | ternary "" ":" }}{{ . }}{{ end -}}
{{- with $image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- define "service-system.postgresImage" -}}
{{- $image := .Values.postgres.image -}}
{{- include "service-system.registry" ($image.registry | default .Values.global.imageRegistry) -}}
{{- $image.repository }}{{ with $image.tag }}:{{ . }}{{ end }}{{ with $image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* What is pinned for tenants, as [repository][:tag][@digest]. Takes (list repository tag). */}}
{{- define "service-system.pin" -}}
{{- $tag := index . 1 -}}
{{- index . 0 }}{{ with $tag }}{{ hasPrefix "@" . | ternary "" ":" }}{{ . }}{{ end -}}
{{- end -}}

{{/* Pod Security "restricted", spelled out. */}}
{{- define "service-system.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ . | int64 }}
runAsGroup: {{ . | int64 }}
fsGroup: {{ . | int64 }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "service-system.containerSecurityContext" -}}
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

{{/* Where a workload's pods go. Takes (dict "root" $ "workload" …). */}}
{{- define "service-system.placement" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .workload.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .workload.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .workload.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .workload.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .workload.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* The account of whoever runs the operator. */}}
{{- define "service-system.operatorAccount" -}}
{{- include "service-system.fullname" . }}-{{ .Values.orchestrator.separate | ternary "operator" "api" -}}
{{- end -}}

{{/* Name of the binding that the operator makes in each tenant's namespace. */}}
{{- define "service-system.tenantBinding" -}}
service-operator
{{- end -}}

{{- define "service-system.tenantRole" -}}
{{- include "service-system.fullname" . }}-tenant
{{- end -}}

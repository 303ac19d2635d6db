{{/* Everything of the stack. Takes the root of the tenant chart: its values hold the ones of this chart under components.wazuh. */}}
{{- define "wazuh.stack" -}}
{{ include "wazuh.manager" . }}
---
{{ include "wazuh.agents" . }}
---
{{ include "wazuh.indexer" . }}
{{- if .Values.components.wazuh.dashboard.enabled }}
---
{{ include "wazuh.dashboard" . }}
{{- end }}
{{- if .Values.networkPolicies.enabled }}
---
{{ include "wazuh.networkPolicies" . }}
{{- end }}
{{- end -}}

{{/* A fixed name each: the certificates are made before the release and name them. */}}
{{- define "wazuh.indexerUrl" -}}
https://wazuh-indexer:9200
{{- end -}}

{{/* A Service of the stack. Takes (dict "root" $ "component" … "name" … "ports" (list of (dict "name" "port" "target"))). */}}
{{- define "wazuh.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" . | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .type | default "ClusterIP" }}
  {{- with .clusterIP }}
  clusterIP: {{ . }}
  {{- end }}
  {{- with .sourceRanges }}
  loadBalancerSourceRanges:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  selector:
    {{- include "service-tenant.selectorLabels" . | nindent 4 }}
  ports:
    {{- range .ports }}
    - name: {{ .name }}
      protocol: TCP
      port: {{ .port | int64 }}
      targetPort: {{ .name }}
    {{- end }}
{{- end -}}

{{/* A volume of a StatefulSet. Takes (dict "root" $ "component" … "size" …). */}}
{{- define "wazuh.claim" -}}
- metadata:
    name: data
    labels:
      {{- include "service-tenant.podLabels" . | nindent 6 }}
  spec:
    accessModes:
      - ReadWriteOnce
    resources:
      requests:
        storage: {{ .size }}
{{- end -}}

{{/* For kube-score: why these workloads are not like ours. Takes the names of further checks. */}}
{{- define "wazuh.exceptions" -}}
# The images are made for the user 1000 or for root and write into their root file system.
kube-score/ignore: {{ concat (list "container-security-context-readonlyrootfilesystem" "container-security-context-user-group-id") . | join "," }}
{{- end -}}

{{/* Restricted but for the root file system: these images write into it. */}}
{{- define "wazuh.containerSecurityContext" -}}
{{- $context := include "service-tenant.containerSecurityContext" . | fromYaml -}}
{{- set $context "readOnlyRootFilesystem" false | toYaml -}}
{{- end -}}

{{/* The user that the images of indexer and dashboard are made for. */}}
{{- define "wazuh.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

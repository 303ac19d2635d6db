{{- define "wazuh.networkPolicies" -}}
{{- $dashboard := .Values.components.wazuh.dashboard.enabled -}}
{{- $manager := include "wazuh.peer" (dict "root" . "component" "manager") -}}
{{- $indexer := include "wazuh.peer" (dict "root" . "component" "indexer") -}}
{{- $viewer := include "wazuh.peer" (dict "root" . "component" "dashboard") -}}
{{ include "wazuh.policyHead" (dict "root" . "component" "manager") }}
  ingress:
    # Agents from anywhere: they show the enrollment password, later their own key.
    - ports:
        - protocol: TCP
          port: 1514
        - protocol: TCP
          port: 1515
    {{- if $dashboard }}
    - from:
        {{- $viewer | nindent 8 }}
      ports:
        - protocol: TCP
          port: 55000
    {{- end }}
  egress:
    - to:
        {{- $indexer | nindent 8 }}
      ports:
        - protocol: TCP
          port: 9200
---
{{ include "wazuh.policyHead" (dict "root" . "component" "indexer") }}
  ingress:
    - from:
        {{- $manager | nindent 8 }}
        {{- include "wazuh.peer" (dict "root" . "component" "adapter") | nindent 8 }}
        {{- if $dashboard }}
        {{- $viewer | nindent 8 }}
        {{- end }}
      ports:
        - protocol: TCP
          port: 9200
  egress: []
{{- if $dashboard }}
---
{{ include "wazuh.policyHead" (dict "root" . "component" "dashboard") }}
  {{- with .Values.networkPolicies.dashboardNamespace }}
  ingress:
    - from:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: {{ . }}
      ports:
        - protocol: TCP
          port: 5601
  {{- else }}
  ingress: []
  {{- end }}
  egress:
    - to:
        {{- $indexer | nindent 8 }}
      ports:
        - protocol: TCP
          port: 9200
    - to:
        {{- $manager | nindent 8 }}
      ports:
        - protocol: TCP
          port: 55000
{{- end }}
{{- end -}}

{{- define "wazuh.policyHead" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "service-tenant.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "service-tenant.selectorLabels" . | nindent 6 }}
  policyTypes:
    - Ingress
    - Egress
{{- end -}}

{{- define "wazuh.peer" -}}
- podSelector:
    matchLabels:
      {{- include "service-tenant.selectorLabels" . | nindent 6 }}
{{- end -}}

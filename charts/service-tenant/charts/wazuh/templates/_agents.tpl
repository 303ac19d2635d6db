{{/* The way of agents to the manager from outside the namespace (wazuhIngress). */}}
{{- define "wazuh.agents" -}}
{{- $ingress := .Values.wazuhIngress -}}
{{- $service := dict "root" . "component" "manager" "name" "wazuh-agents" -}}
{{- $events := 1514 -}}
{{- $enrollment := 1515 -}}
{{- if eq $ingress.mode "loadbalancer" -}}
{{- $annotations := $ingress.annotations -}}
{{- with $ingress.hostname -}}
{{- $annotations = merge (dict "external-dns.alpha.kubernetes.io/hostname" .) $annotations -}}
{{- end -}}
{{- $service = merge (dict "type" "LoadBalancer" "annotations" $annotations "sourceRanges" $ingress.sourceRanges) $service -}}
{{- else -}}
{{- /* The edge routes its own pair of ports to this Service; until one is assigned the usual pair answers. */ -}}
{{- $events = $ingress.edgePorts.events | default $events -}}
{{- $enrollment = $ingress.edgePorts.enrollment | default $enrollment -}}
{{- end -}}
{{ include "wazuh.service" (merge (dict "ports" (list (dict "name" "events" "port" $events) (dict "name" "enrollment" "port" $enrollment))) $service) }}
{{- if include "wazuh.agentsIssued" . }}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: wazuh-agents
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" (dict "root" . "component" "manager") | nindent 4 }}
spec:
  secretName: {{ include "wazuh.agentsTlsSecret" . }}
  dnsNames:
    - {{ required "wazuhIngress.tls.issuerRef needs wazuhIngress.hostname" $ingress.hostname | quote }}
  issuerRef:
    name: {{ $ingress.tls.issuerRef.name }}
    kind: {{ $ingress.tls.issuerRef.kind }}
{{- end }}
{{- end -}}

{{/* Whether cert-manager is asked for the certificate that agents see. */}}
{{- define "wazuh.agentsIssued" -}}
{{- if and .Values.wazuhIngress.tls.issuerRef.name (.Capabilities.APIVersions.Has "cert-manager.io/v1") -}}
true
{{- end -}}
{{- end -}}

{{/* Named by the values, else issued by cert-manager, else a leaf of the tenant's own authority. */}}
{{- define "wazuh.agentsTlsSecret" -}}
{{- if .Values.wazuhIngress.tls.secretName -}}
{{- .Values.wazuhIngress.tls.secretName -}}
{{- else if include "wazuh.agentsIssued" . -}}
wazuh-agents-tls
{{- else -}}
wazuh-manager-tls
{{- end -}}
{{- end -}}

{{- define "wazuh.dashboard" -}}
{{- $component := dict "root" . "component" "dashboard" -}}
{{- $wazuh := .Values.components.wazuh -}}
{{- $dashboard := $wazuh.dashboard -}}
{{- $config := "/usr/share/wazuh-dashboard/config" -}}
{{ include "service-tenant.serviceAccount" $component }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: wazuh-dashboard
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" $component | nindent 4 }}
data:
  opensearch_dashboards.yml: |
    {{- include "wazuh.dashboardConfig" . | nindent 4 }}
---
{{ include "wazuh.service" (merge (dict "name" "wazuh-dashboard" "ports" (list (dict "name" "https" "port" 443))) $component) }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: wazuh-dashboard
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" $component | nindent 4 }}
  annotations:
    {{- include "wazuh.exceptions" (list) | nindent 4 }}
spec:
  replicas: 1
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      {{- include "service-tenant.selectorLabels" $component | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "service-tenant.podLabels" $component | nindent 8 }}
      annotations:
        checksum/config: {{ include "wazuh.dashboardConfig" . | sha256sum }}
        {{- with .Values.secretChecksums.dashboard }}
        checksum/secrets: {{ . }}
        {{- end }}
    spec:
      {{- include "service-tenant.podCommon" (merge (dict "nodeSelector" $wazuh.nodeSelector) $component) | nindent 6 }}
      terminationGracePeriodSeconds: 30
      securityContext:
        {{- include "wazuh.podSecurityContext" . | nindent 8 }}
      containers:
        - name: dashboard
          image: {{ include "service-tenant.image" (dict "image" $dashboard.image "key" "components.wazuh.dashboard.image") }}
          imagePullPolicy: {{ $dashboard.image.pullPolicy }}
          env:
            - name: DASHBOARD_USERNAME
              value: kibanaserver
            {{- include "service-tenant.secretEnv" (dict "name" "DASHBOARD_PASSWORD" "secret" "wazuh-credentials" "key" "dashboard_password") | nindent 12 }}
            - name: WAZUH_API_URL
              value: https://wazuh-manager
            {{- include "service-tenant.secretEnv" (dict "name" "API_USERNAME" "secret" "wazuh-credentials" "key" "api_username") | nindent 12 }}
            {{- include "service-tenant.secretEnv" (dict "name" "API_PASSWORD" "secret" "wazuh-credentials" "key" "api_password") | nindent 12 }}
          ports:
            - name: https
              containerPort: 5601
              protocol: TCP
          startupProbe:
            tcpSocket:
              port: https
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 60
          livenessProbe:
            tcpSocket:
              port: https
            periodSeconds: 20
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            httpGet:
              path: /app/login
              port: https
              scheme: HTTPS
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          resources:
            {{- toYaml $dashboard.resources | nindent 12 }}
          securityContext:
            {{- include "wazuh.containerSecurityContext" . | nindent 12 }}
          volumeMounts:
            - name: config
              mountPath: {{ $config }}/opensearch_dashboards.yml
              subPath: opensearch_dashboards.yml
              readOnly: true
            - name: tls
              mountPath: {{ $config }}/certs
              readOnly: true
      volumes:
        - name: config
          configMap:
            name: wazuh-dashboard
        - name: tls
          secret:
            secretName: wazuh-dashboard-tls
            defaultMode: 288 # 0440
{{- end -}}

{{/* The image puts the credentials into its keystore; they are not in here. */}}
{{- define "wazuh.dashboardConfig" -}}
{{- $certs := "/usr/share/wazuh-dashboard/config/certs" -}}
server.host: 0.0.0.0
server.port: 5601
server.ssl.enabled: true
server.ssl.certificate: {{ $certs }}/tls.crt
server.ssl.key: {{ $certs }}/tls.key
opensearch.hosts: {{ include "wazuh.indexerUrl" . }}
opensearch.ssl.verificationMode: full
opensearch.ssl.certificateAuthorities:
  - {{ $certs }}/ca.crt
opensearch.requestHeadersAllowlist:
  - authorization
  - securitytenant
opensearch_security.multitenancy.enabled: false
opensearch_security.cookie.secure: true
uiSettings.overrides.defaultRoute: /app/wz-home
{{- end -}}

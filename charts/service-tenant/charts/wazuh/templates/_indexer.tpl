{{- define "wazuh.indexer" -}}
{{- $component := dict "root" . "component" "indexer" -}}
{{- $wazuh := .Values.components.wazuh -}}
{{- $indexer := $wazuh.indexer -}}
{{- $exceptions := list -}}
{{- if $indexer.sysctlInit.enabled -}}
{{- $exceptions = list "container-security-context-privileged" -}}
{{- end -}}
{{- $home := "/usr/share/wazuh-indexer" -}}
{{- $image := include "service-tenant.image" (dict "image" $indexer.image "key" "components.wazuh.indexer.image") -}}
{{ include "service-tenant.serviceAccount" $component }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: wazuh-indexer
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" $component | nindent 4 }}
data:
  {{- include "wazuh.indexerConfig" . | nindent 2 }}
---
{{ include "wazuh.service" (merge (dict "name" "wazuh-indexer" "clusterIP" "None" "ports" (list (dict "name" "https" "port" 9200))) $component) }}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: wazuh-indexer
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" $component | nindent 4 }}
  annotations:
    {{- include "wazuh.exceptions" ($exceptions) | nindent 4 }}
spec:
  serviceName: wazuh-indexer
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
        checksum/config: {{ include "wazuh.indexerConfig" . | sha256sum }}
        {{- with .Values.secretChecksums.indexer }}
        checksum/secrets: {{ . }}
        {{- end }}
    spec:
      {{- include "service-tenant.podCommon" (merge (dict "nodeSelector" $wazuh.nodeSelector) $component) | nindent 6 }}
      terminationGracePeriodSeconds: 120
      securityContext:
        {{- include "wazuh.podSecurityContext" . | nindent 8 }}
      {{- if $indexer.sysctlInit.enabled }}
      initContainers:
        - name: sysctl
          image: {{ $image }}
          imagePullPolicy: {{ $indexer.image.pullPolicy }}
          command:
            - sh
            - -c
            - test "$(cat /proc/sys/vm/max_map_count)" -ge 262144 || echo 262144 > /proc/sys/vm/max_map_count
          resources:
            requests:
              cpu: 10m
              memory: 32Mi
            limits:
              cpu: 100m
              memory: 64Mi
          securityContext:
            privileged: true
            allowPrivilegeEscalation: true
            runAsNonRoot: false
            runAsUser: 0
      {{- end }}
      containers:
        - name: indexer
          image: {{ $image }}
          imagePullPolicy: {{ $indexer.image.pullPolicy }}
          env:
            - name: OPENSEARCH_JAVA_OPTS
              value: -Xms{{ $indexer.jvm.heap }} -Xmx{{ $indexer.jvm.heap }}
            - name: DISABLE_INSTALL_DEMO_CONFIG
              value: "true"
          ports:
            - name: https
              containerPort: 9200
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
            failureThreshold: 6
          # Answers without credentials, and with success only when users and roles are loaded.
          readinessProbe:
            httpGet:
              path: /_plugins/_security/health
              port: https
              scheme: HTTPS
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          resources:
            {{- toYaml $indexer.resources | nindent 12 }}
          securityContext:
            {{- include "wazuh.containerSecurityContext" . | nindent 12 }}
          volumeMounts:
            - name: data
              mountPath: /var/lib/wazuh-indexer
            - name: logs
              mountPath: /var/log/wazuh-indexer
            - name: config
              mountPath: {{ $home }}/config/opensearch.yml
              subPath: opensearch.yml
              readOnly: true
            {{- range list "roles.yml" "roles_mapping.yml" }}
            - name: config
              mountPath: {{ $home }}/config/opensearch-security/{{ . }}
              subPath: {{ . }}
              readOnly: true
            {{- end }}
            - name: users
              mountPath: {{ $home }}/config/opensearch-security/internal_users.yml
              subPath: internal_users.yml
              readOnly: true
            - name: tls
              mountPath: {{ $home }}/config/certs
              readOnly: true
      volumes:
        - name: logs
          emptyDir:
            sizeLimit: 1Gi
        - name: config
          configMap:
            name: wazuh-indexer
        - name: users
          secret:
            secretName: wazuh-indexer-users
            defaultMode: 288 # 0440
        - name: tls
          projected:
            defaultMode: 288 # 0440
            sources:
              - secret:
                  name: wazuh-indexer-tls
              # For securityadmin, run by a person inside this pod: users that exist are not read from files again.
              - secret:
                  name: wazuh-admin-tls
                  items:
                    - key: tls.crt
                      path: admin.crt
                    - key: tls.key
                      path: admin.key
  volumeClaimTemplates:
    {{- include "wazuh.claim" (merge (dict "size" $indexer.persistence.size) $component) | nindent 4 }}
{{- end -}}

{{/* One node with TLS on both of its sides. Its users come from a Secret, its roles from here, at the first boot. */}}
{{- define "wazuh.indexerConfig" -}}
{{- $certs := "/usr/share/wazuh-indexer/config/certs" -}}
opensearch.yml: |
  cluster.name: {{ .Release.Namespace }}
  node.name: wazuh-indexer
  network.host: 0.0.0.0
  discovery.type: single-node
  path.data: /var/lib/wazuh-indexer
  path.logs: /var/log/wazuh-indexer
  node.store.allow_mmap: {{ .Values.components.wazuh.indexer.sysctlInit.enabled }}
  # The manager's shipper asks for a version that it knows.
  compatibility.override_main_response_version: true
  {{- range $side := list "http" "transport" }}
  plugins.security.ssl.{{ $side }}.pemcert_filepath: {{ $certs }}/tls.crt
  plugins.security.ssl.{{ $side }}.pemkey_filepath: {{ $certs }}/tls.key
  plugins.security.ssl.{{ $side }}.pemtrustedcas_filepath: {{ $certs }}/ca.crt
  {{- end }}
  plugins.security.ssl.http.enabled: true
  plugins.security.ssl.transport.enforce_hostname_verification: false
  plugins.security.nodes_dn:
    - CN=indexer
  plugins.security.authcz.admin_dn:
    - CN=admin
  plugins.security.allow_default_init_securityindex: true
  plugins.security.allow_unsafe_democertificates: false
  plugins.security.check_snapshot_restore_write_privileges: true
  plugins.security.restapi.roles_enabled:
    - all_access
  plugins.security.system_indices.enabled: true
roles.yml: |
  _meta:
    type: roles
    config_version: 2
  alert_reader:
    reserved: true
    cluster_permissions:
      - cluster_composite_ops_ro
      - indices:data/read/point_in_time/create
      - indices:data/read/point_in_time/delete
    index_permissions:
      - index_patterns:
          - wazuh-alerts-*
        allowed_actions:
          - read
          - indices:monitor/settings/get
          - indices:admin/mappings/get
          - indices:data/read/point_in_time/create
  dashboard_indices:
    reserved: true
    index_permissions:
      - index_patterns:
          - wazuh-*
        allowed_actions:
          - read
          - index
          - delete
          - manage
roles_mapping.yml: |
  _meta:
    type: rolesmapping
    config_version: 2
  all_access:
    reserved: true
    backend_roles:
      - admin
  kibana_server:
    reserved: true
    users:
      - kibanaserver
  dashboard_indices:
    reserved: true
    users:
      - kibanaserver
  alert_reader:
    reserved: true
    users:
      - alert-reader
{{- end -}}

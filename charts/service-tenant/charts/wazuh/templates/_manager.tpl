{{- define "wazuh.manager" -}}
{{- $component := dict "root" . "component" "manager" -}}
{{- $wazuh := .Values.components.wazuh -}}
{{- $manager := $wazuh.manager -}}
{{ include "service-tenant.serviceAccount" $component }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: wazuh-manager
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" $component | nindent 4 }}
data:
  ossec.conf: |
    {{- include "wazuh.managerConfig" . | nindent 4 }}
---
{{ include "wazuh.service" (merge (dict "name" "wazuh-manager" "clusterIP" "None" "ports" (list (dict "name" "events" "port" 1514) (dict "name" "enrollment" "port" 1515) (dict "name" "api" "port" 55000))) $component) }}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: wazuh-manager
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" $component | nindent 4 }}
  annotations:
    {{- include "wazuh.exceptions" (list) | nindent 4 }}
spec:
  serviceName: wazuh-manager
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
        checksum/config: {{ include "wazuh.managerConfig" . | sha256sum }}
        {{- with .Values.secretChecksums.manager }}
        checksum/secrets: {{ . }}
        {{- end }}
    spec:
      {{- include "service-tenant.podCommon" (merge (dict "nodeSelector" $wazuh.nodeSelector) $component) | nindent 6 }}
      terminationGracePeriodSeconds: 60
      securityContext:
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: manager
          image: {{ include "service-tenant.image" (dict "image" $manager.image "key" "components.wazuh.manager.image") }}
          imagePullPolicy: {{ $manager.image.pullPolicy }}
          env:
            - name: INDEXER_URL
              value: {{ include "wazuh.indexerUrl" . }}
            {{- include "service-tenant.secretEnv" (dict "name" "INDEXER_USERNAME" "secret" "wazuh-credentials" "key" "indexer_username") | nindent 12 }}
            {{- include "service-tenant.secretEnv" (dict "name" "INDEXER_PASSWORD" "secret" "wazuh-credentials" "key" "indexer_password") | nindent 12 }}
            {{- include "service-tenant.secretEnv" (dict "name" "API_USERNAME" "secret" "wazuh-credentials" "key" "api_username") | nindent 12 }}
            {{- include "service-tenant.secretEnv" (dict "name" "API_PASSWORD" "secret" "wazuh-credentials" "key" "api_password") | nindent 12 }}
            - name: FILEBEAT_SSL_VERIFICATION_MODE
              value: full
            - name: SSL_CERTIFICATE_AUTHORITIES
              value: /etc/ssl/wazuh/ca.crt
            - name: SSL_CERTIFICATE
              value: /etc/ssl/wazuh/tls.crt
            - name: SSL_KEY
              value: /etc/ssl/wazuh/tls.key
          ports:
            - name: events
              containerPort: 1514
              protocol: TCP
            - name: enrollment
              containerPort: 1515
              protocol: TCP
            - name: api
              containerPort: 55000
              protocol: TCP
          # The first start unpacks the rules and makes databases.
          startupProbe:
            tcpSocket:
              port: enrollment
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 60
          livenessProbe:
            tcpSocket:
              port: events
            periodSeconds: 20
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            tcpSocket:
              port: api
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          resources:
            {{- toYaml $manager.resources | nindent 12 }}
          # The exception of this namespace: the init of the image is root, hands its files to the users of the daemons,
          # and these lock themselves into their folder.
          securityContext:
            allowPrivilegeEscalation: false
            privileged: false
            runAsUser: 0
            capabilities:
              drop:
                - ALL
              add:
                - CHOWN
                - DAC_OVERRIDE
                - FOWNER
                - FSETID
                - KILL
                - SETGID
                - SETUID
                - SYS_CHROOT
          volumeMounts:
            # Agent keys, enrollment state and queues outlive the pod. What is configured here replaces the copy in `etc`
            # at each start, so that an old volume hides nothing new.
            {{- range $path, $part := include "wazuh.managerState" . | fromYaml }}
            - name: data
              mountPath: {{ $path }}
              subPath: {{ $part }}
            {{- end }}
            - name: config
              mountPath: /wazuh-config-mount/etc/ossec.conf
              subPath: ossec.conf
              readOnly: true
            - name: enrollment
              mountPath: /wazuh-config-mount/etc/authd.pass
              subPath: authd.pass
              readOnly: true
            - name: agents-tls
              mountPath: /wazuh-config-mount/etc/sslmanager.cert
              subPath: tls.crt
              readOnly: true
            - name: agents-tls
              mountPath: /wazuh-config-mount/etc/sslmanager.key
              subPath: tls.key
              readOnly: true
            - name: tls
              mountPath: /etc/ssl/wazuh
              readOnly: true
      volumes:
        - name: config
          configMap:
            name: wazuh-manager
        - name: enrollment
          secret:
            secretName: wazuh-authd-secret
            defaultMode: 416 # 0640
            items:
              - key: password
                path: authd.pass
        - name: agents-tls
          secret:
            secretName: {{ include "wazuh.agentsTlsSecret" . }}
            defaultMode: 416 # 0640
        - name: tls
          secret:
            secretName: wazuh-manager-tls
            defaultMode: 288 # 0440
  volumeClaimTemplates:
    {{- include "wazuh.claim" (merge (dict "size" $manager.persistence.size) $component) | nindent 4 }}
{{- end -}}

{{/* Folders of the image that are kept, and where on the volume. */}}
{{- define "wazuh.managerState" -}}
/etc/filebeat: filebeat/etc
/var/lib/filebeat: filebeat/var
/var/ossec/active-response/bin: wazuh/active-response
/var/ossec/agentless: wazuh/agentless
/var/ossec/api/configuration: wazuh/api
/var/ossec/etc: wazuh/etc
/var/ossec/integrations: wazuh/integrations
/var/ossec/logs: wazuh/logs
/var/ossec/queue: wazuh/queue
/var/ossec/var/multigroups: wazuh/multigroups
/var/ossec/wodles: wazuh/wodles
{{- end -}}

{{/* One manager, which agents enroll at with the password, and which hands its alerts to the indexer of the tenant. */}}
{{- define "wazuh.managerConfig" -}}
<ossec_config>
  <global>
    <jsonout_output>yes</jsonout_output>
    <alerts_log>no</alerts_log>
    <logall>no</logall>
    <logall_json>no</logall_json>
    <email_notification>no</email_notification>
    <agents_disconnection_time>15m</agents_disconnection_time>
    <update_check>no</update_check>
  </global>
  <alerts>
    <log_alert_level>3</log_alert_level>
  </alerts>
  <remote>
    <connection>secure</connection>
    <port>1514</port>
    <protocol>tcp</protocol>
    <queue_size>131072</queue_size>
  </remote>
  <auth>
    <disabled>no</disabled>
    <port>1515</port>
    <use_source_ip>no</use_source_ip>
    <purge>yes</purge>
    <use_password>yes</use_password>
    <ssl_verify_host>no</ssl_verify_host>
    <ssl_manager_cert>etc/sslmanager.cert</ssl_manager_cert>
    <ssl_manager_key>etc/sslmanager.key</ssl_manager_key>
    <ssl_auto_negotiate>no</ssl_auto_negotiate>
  </auth>
  <ruleset>
    <decoder_dir>ruleset/decoders</decoder_dir>
    <rule_dir>ruleset/rules</rule_dir>
    <list>etc/lists/audit-keys</list>
    <decoder_dir>etc/decoders</decoder_dir>
    <rule_dir>etc/rules</rule_dir>
  </ruleset>
  <indexer>
    <enabled>yes</enabled>
    <hosts>
      <host>{{ include "wazuh.indexerUrl" . }}</host>
    </hosts>
    <ssl>
      <certificate_authorities>
        <ca>/etc/ssl/wazuh/ca.crt</ca>
      </certificate_authorities>
      <certificate>/etc/ssl/wazuh/tls.crt</certificate>
      <key>/etc/ssl/wazuh/tls.key</key>
    </ssl>
  </indexer>
  <!-- Needs a feed from outside, which the network policies close. -->
  <vulnerability-detection>
    <enabled>no</enabled>
  </vulnerability-detection>
  <cluster>
    <name>wazuh</name>
    <node_name>wazuh-manager</node_name>
    <node_type>master</node_type>
    <disabled>yes</disabled>
  </cluster>
  <!-- The container watches agents, not itself. -->
  <rootcheck>
    <disabled>yes</disabled>
  </rootcheck>
  <syscheck>
    <disabled>yes</disabled>
  </syscheck>
</ossec_config>
{{- end -}}

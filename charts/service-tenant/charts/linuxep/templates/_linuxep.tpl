{{/*
One endpoint agent that enrolls at the tenant's manager. A StatefulSet: its name and its key stay over restarts, so that it
enrolls once. Not on every node: the nodes are the provider's, not the tenant's.
*/}}
{{- define "linuxep.stack" -}}
{{- $component := dict "root" . "component" "linuxep" -}}
{{- $linuxep := .Values.linuxep -}}
{{ include "service-tenant.serviceAccount" $component }}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: linuxep
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" $component | nindent 4 }}
  annotations:
    # Nothing connects to an agent.
    kube-score/ignore: statefulset-has-servicename
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
      {{- with .Values.secretChecksums.linuxep }}
      annotations:
        checksum/secrets: {{ . }}
      {{- end }}
    spec:
      {{- include "service-tenant.podCommon" (merge (dict "nodeSelector" .Values.components.wazuh.nodeSelector) $component) | nindent 6 }}
      terminationGracePeriodSeconds: 30
      securityContext:
        {{- include "service-tenant.podSecurityContext" . | nindent 8 }}
      containers:
        - name: linuxep
          image: {{ include "service-tenant.image" (dict "image" $linuxep.image "key" "linuxep.image") }}
          imagePullPolicy: {{ $linuxep.image.pullPolicy }}
          env:
            - name: AGENT_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            - name: MANAGER_HOST
              value: wazuh-manager
            - name: MANAGER_PORT
              value: "1514"
            - name: ENROLLMENT_PORT
              value: "1515"
            - name: ENROLLMENT_PASSWORD_FILE
              value: /var/run/service/enrollment/password
            - name: MANAGER_CA_FILE
              value: /var/run/service/ca/ca.crt
            - name: STATE_DIRECTORY
              value: /var/lib/linuxep
            - name: PORT
              value: "8080"
          ports:
            - name: health
              containerPort: 8080
              protocol: TCP
          startupProbe:
            httpGet:
              path: /health/live
              port: health
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 60
          livenessProbe:
            httpGet:
              path: /health/live
              port: health
            periodSeconds: 20
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            httpGet:
              path: /health/ready
              port: health
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          resources:
            {{- toYaml $linuxep.resources | nindent 12 }}
          securityContext:
            {{- include "service-tenant.containerSecurityContext" . | nindent 12 }}
          volumeMounts:
            - name: data
              mountPath: /var/lib/linuxep
            - name: enrollment
              mountPath: /var/run/service/enrollment
              readOnly: true
            - name: ca
              mountPath: /var/run/service/ca
              readOnly: true
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: enrollment
          secret:
            secretName: wazuh-authd-secret
            defaultMode: 288 # 0440
        - name: ca
          secret:
            secretName: wazuh-ca
            defaultMode: 292 # 0444
        - name: tmp
          emptyDir:
            sizeLimit: 64Mi
  volumeClaimTemplates:
    - metadata:
        name: data
        labels:
          {{- include "service-tenant.podLabels" $component | nindent 10 }}
      spec:
        accessModes:
          - ReadWriteOnce
        resources:
          requests:
            storage: {{ $linuxep.persistence.size }}
{{- if .Values.networkPolicies.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "service-tenant.fullname" . }}-linuxep
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "service-tenant.labels" $component | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "service-tenant.selectorLabels" $component | nindent 6 }}
  policyTypes:
    - Ingress
    - Egress
  ingress: []
  egress:
    - to:
        - podSelector:
            matchLabels:
              {{- include "service-tenant.selectorLabels" (dict "root" . "component" "manager") | nindent 14 }}
      ports:
        - protocol: TCP
          port: 1514
        - protocol: TCP
          port: 1515
{{- end }}
{{- end -}}

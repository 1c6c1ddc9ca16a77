{{/*
The one pod template: of services, Jobs, tests and bundled servers. Restricted by the Pod Security standards, without a token
of the cluster and without variables of other services. Takes: root, component, containers; and where they differ from the
default: initContainers, volumes, labels, annotations, serviceAccount, runAsUser, graceSeconds, restartPolicy, isSpread.
*/}}
{{- define "pawl.pod" -}}
{{- $pods := .root.Values.pods -}}
{{- $labels := merge (include "pawl.labels" . | fromYaml) (.labels | default dict) $pods.labels -}}
{{- $annotations := merge (dict) (.annotations | default dict) $pods.annotations -}}
{{- $user := .runAsUser | default $pods.runAsUser | int64 -}}
metadata:
  labels:
    {{- toYaml $labels | nindent 4 }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ .serviceAccount | default (printf "%s-jobs" (include "pawl.fullname" .root)) }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .graceSeconds | default 30 }}
  {{- with .restartPolicy }}
  restartPolicy: {{ . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: {{ $user }}
    runAsGroup: {{ $user }}
    fsGroup: {{ $user }}
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with $pods.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $pods.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $pods.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $pods.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $pods.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- if .isSpread }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "pawl.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- with .initContainers }}
  initContainers:
    {{- . | nindent 4 }}
  {{- end }}
  containers:
    {{- .containers | nindent 4 }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- with .volumes }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with $pods.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* What every container has at its end: its security and its writable places. Takes root and mounts. */}}
{{- define "pawl.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- with .mounts }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .root.Values.pods.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Variables that reach NATS. Takes root and user. */}}
{{- define "pawl.natsEnv" -}}
{{- $nats := .root.Values.nats -}}
- name: PAWL_NATS_URL
  value: {{ include "pawl.natsUrl" .root | quote }}
{{- if $nats.users }}
- name: PAWL_NATS_USER
  value: {{ printf "pawl-%s" .user | quote }}
- name: PAWL_NATS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ include "pawl.secretName" .root }}
      key: {{ printf "nats-%s" .user | quote }}
{{- end }}
{{- if $nats.caSecret }}
- name: PAWL_NATS_CA_FILE
  value: /etc/pawl/nats-ca/ca.crt
{{- end }}
{{- if $nats.certificateSecret }}
- name: PAWL_NATS_CERT_FILE
  value: /etc/pawl/nats-certificate/tls.crt
- name: PAWL_NATS_KEY_FILE
  value: /etc/pawl/nats-certificate/tls.key
{{- end }}
- name: PAWL_PARTITIONS
  value: {{ int $nats.partitions | quote }}
- name: PAWL_REPLICAS
  value: {{ ternary 1 (int $nats.streamReplicas) (eq $nats.mode "bundled") | quote }}
{{- end -}}

{{/* Variables that reach Postgres. */}}
{{- define "pawl.databaseEnv" -}}
{{- $secret := include "pawl.secretName" . -}}
{{- if eq .Values.postgres.mode "bundled" }}
- name: POSTGRES_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: postgres-password
- name: PAWL_DATABASE_URL
  value: {{ printf "postgres://pawl:$(POSTGRES_PASSWORD)@%s-postgres:5432/pawl" (include "pawl.fullname" .) | quote }}
{{- else }}
- name: PAWL_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: database-url
{{- end }}
{{- if .Values.postgres.caSecret }}
- name: PAWL_DATABASE_CA_FILE
  value: /etc/pawl/database-ca/ca.crt
{{- end }}
{{- end -}}

{{- define "pawl.adminKeyEnv" -}}
- name: PAWL_ADMIN_KEY
  valueFrom:
    secretKeyRef:
      name: {{ include "pawl.secretName" . }}
      key: admin-key
{{- end -}}

{{/* Certificates, as volumes and where they are mounted. */}}
{{- define "pawl.certificates" -}}
{{- $secrets := dict "nats-ca" .Values.nats.caSecret "nats-certificate" .Values.nats.certificateSecret "database-ca" .Values.postgres.caSecret -}}
{{- range $name, $secret := $secrets }}
{{- if $secret }}
- name: {{ $name }}
  secret:
    secretName: {{ $secret }}
    defaultMode: 288 # 0440, for the group of the pod
{{- end }}
{{- end }}
{{- end -}}

{{- define "pawl.certificateMounts" -}}
{{- range include "pawl.certificates" . | fromYamlArray }}
- name: {{ .name }}
  mountPath: /etc/pawl/{{ .name }}
  readOnly: true
{{- end }}
{{- end -}}

{{/* Where those find the services that call them over HTTP. */}}
{{- define "pawl.serviceUrls" -}}
- name: PAWL_ORCHESTRATOR_URL
  value: http://{{ include "pawl.fullname" . }}-orchestrator:7301
- name: PAWL_TOOL_RUNNER_URL
  value: http://{{ include "pawl.fullname" . }}-tool-runner:7302
- name: PAWL_LLM_GATEWAY_URL
  value: http://{{ include "pawl.fullname" . }}-llm-gateway:7303
{{- end -}}

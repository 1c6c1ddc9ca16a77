{{/* Names and labels. Quoted everywhere: a release may be called `n`, `123` or `1e3`. */}}

{{- define "pawl.fullname" -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- if regexMatch "^[0-9]" $release -}}
{{- printf "pawl-%s" $release | trunc 40 | trimSuffix "-" -}}
{{- else if contains "pawl" $release -}}
{{- $release | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-pawl" ($release | trunc 35 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of a component; never changes between versions. */}}
{{- define "pawl.selector" -}}
app.kubernetes.io/name: pawl
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component | quote }}
{{- end -}}

{{- define "pawl.labels" -}}
{{ include "pawl.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: pawl
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{/* `llm-gateway` → `llmGateway`, its key in the values. */}}
{{- define "pawl.key" -}}
{{- camelcase . | untitle -}}
{{- end -}}

{{- define "pawl.image" -}}
{{- $image := .root.Values.image -}}
{{- with $image.registry }}{{ trimSuffix "/" . }}/{{ end }}pawl-{{ .service }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{- define "pawl.secretName" -}}
{{- .Values.secret.existingSecret | default (printf "%s-secrets" (include "pawl.fullname" .)) -}}
{{- end -}}

{{- define "pawl.natsUrl" -}}
{{- if eq .Values.nats.mode "bundled" }}nats://{{ include "pawl.fullname" . }}-nats:4222{{ else }}{{ .Values.nats.url }}{{ end -}}
{{- end -}}

{{/* Pods of a service at the least; what a disruption budget goes by. */}}
{{- define "pawl.podsMin" -}}
{{- if eq .autoscaling.kind "none" }}{{ int .replicas }}{{ else }}{{ int .autoscaling.minReplicas }}{{ end -}}
{{- end -}}

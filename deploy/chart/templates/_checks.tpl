{{/* What a schema can't say about values that only together make sense. Each mistake is a sentence that says what to do. */}}

{{- define "pawl.check" -}}
{{- $v := .Values -}}
{{- $external := $v.secret.externalSecret -}}
{{- if not (or $v.secret.existingSecret $external.key) -}}
{{- fail "Name the Secret that holds the keys and passwords: set secret.existingSecret, or secret.externalSecret.key and storeName to have External Secrets make it. The README says which fields it needs." -}}
{{- end -}}
{{- if and $v.secret.existingSecret $external.key -}}
{{- fail "Set either secret.existingSecret or secret.externalSecret, not both." -}}
{{- end -}}
{{- if and $external.key (not $external.storeName) -}}
{{- fail "secret.externalSecret.key is set, so secret.externalSecret.storeName has to name the store." -}}
{{- end -}}
{{- if and (eq $v.nats.mode "external") (not $v.nats.url) -}}
{{- fail "Set nats.url to the address of a NATS server with JetStream, or nats.mode=bundled for a trial." -}}
{{- end -}}
{{- if and (eq $v.nats.mode "bundled") (or $v.nats.url $v.nats.caSecret $v.nats.certificateSecret) -}}
{{- fail "nats.url, nats.caSecret and nats.certificateSecret are for an external server: remove them, or set nats.mode=external." -}}
{{- end -}}
{{- if and (eq $v.postgres.mode "bundled") $v.postgres.caSecret -}}
{{- fail "postgres.caSecret is for an external server: remove it, or set postgres.mode=external." -}}
{{- end -}}
{{- if eq $v.image.tag "latest" -}}
{{- fail "image.tag must name a version: what `latest` is differs from node to node and from day to day." -}}
{{- end -}}
{{- if and (or $v.ingress.enabled $v.gateway.enabled) (not $v.host) -}}
{{- fail "Set host to the name under which clients reach Pawl: ingress or gateway is enabled." -}}
{{- end -}}
{{- if and $v.gateway.enabled (not $v.gateway.parentRefs) -}}
{{- fail "gateway.enabled needs gateway.parentRefs: the Gateways that the route belongs to." -}}
{{- end -}}
{{- range $name, $_ := .Files.Get "files/routes.json" | fromJson -}}
{{- $key := include "pawl.key" $name -}}
{{- $scaling := (index $v $key).autoscaling -}}
{{- if and (ne $scaling.kind "none") (gt (int $scaling.minReplicas) (int $scaling.maxReplicas)) -}}
{{- fail (printf "%s.autoscaling.minReplicas is larger than maxReplicas." $key) -}}
{{- end -}}
{{- if eq $scaling.kind "keda" -}}
{{- if not $v.apps -}}
{{- fail (printf "%s.autoscaling.kind=keda needs apps: the names of the apps whose queues are watched." $key) -}}
{{- end -}}
{{- if and (eq $v.nats.mode "external") (not $v.nats.monitoringEndpoint) -}}
{{- fail (printf "%s.autoscaling.kind=keda needs nats.monitoringEndpoint, for example nats-headless.nats.svc.cluster.local:8222." $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

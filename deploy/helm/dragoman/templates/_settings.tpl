{{- /* Settings of the pods as YAML: those that follow from other values, then .Values.settings. */ -}}
{{- define "dragoman.settings" -}}
{{- $settings := dict "drain_s" 10 "log_format" "json" -}}
{{- if .Values.postgresql.enabled -}}
{{-   if .Values.persistence.enabled -}}
{{-     $_ := set $settings "jobs_files" "/var/lib/dragoman/jobs" -}}
{{-   end -}}
{{- else if .Values.persistence.enabled -}}
{{-   $_ := set $settings "database_url" "sqlite:////var/lib/dragoman/dragoman.db" -}}
{{- else -}}
{{- /* Files of jobs are in temporaryStorage, together with uploads. */ -}}
{{-   $_ := set $settings "max_jobs_bytes" 268435456 -}}
{{- end -}}
{{- if .Values.s3.enabled -}}
{{-   $_ := set $settings "jobs_files" .Values.s3.url -}}
{{- end -}}
{{- if and .Values.redis.enabled (not .Values.redis.secretName) -}}
{{-   $_ := set $settings "rate_storage_url" .Values.redis.url -}}
{{- end -}}
{{- if and .Values.ingress.enabled (ne .Values.ingress.path "/") -}}
{{-   $_ := set $settings "root_path" (trimSuffix "/" .Values.ingress.path) -}}
{{- end -}}
{{- mergeOverwrite $settings .Values.settings | toYaml -}}
{{- end }}

{{- /* A value of a setting as the text of a variable. Helm reads whole numbers as floats. */ -}}
{{- define "dragoman.settingText" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
{{ int64 . }}
{{- else -}}
{{ . }}
{{- end -}}
{{- end }}

{{- /* Variables of the container that do not belong in a ConfigMap. */ -}}
{{- define "dragoman.env" -}}
{{- with .Values.postgresql }}
{{- if .enabled }}
- name: DRAGOMAN_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ .secretName }}, key: {{ .secretKey }}}}
{{- end }}
{{- end }}
{{- with .Values.redis }}
{{- if and .enabled .secretName }}
- name: DRAGOMAN_RATE_STORAGE_URL
  valueFrom: {secretKeyRef: {name: {{ .secretName }}, key: {{ .secretKey }}}}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "dragoman.hasSeveralPods" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}true{{ end -}}
{{- end }}

{{- define "dragoman.metricsNeedKey" -}}
{{- $settings := include "dragoman.settings" . | fromYaml -}}
{{- $metrics := $settings.metrics | default "auto" -}}
{{- if or (eq $metrics "key") (and (eq $metrics "auto") $settings.requires_key) }}true{{ end -}}
{{- end }}

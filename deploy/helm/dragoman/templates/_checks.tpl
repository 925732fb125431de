{{- /* Fail for values that contradict each other. */ -}}
{{- define "dragoman.check" -}}
{{- $settings := include "dragoman.settings" . | fromYaml -}}
{{- /* Settings that are not to be set by name, and what to use instead. */ -}}
{{- $instead := dict "database_url" "postgresql or persistence" "rate_storage_url" "redis" "models_dir" "models"
      "port" "service.port" "uds" "service" -}}
{{- range $name, $value := $instead -}}
{{-   if hasKey $.Values.settings $name -}}
{{-     fail (printf "settings.%s cannot be set: use %s" $name $value) -}}
{{-   end -}}
{{- end -}}
{{- $hasJobs := ne ($settings.jobs | default "on" | toString) "off" -}}
{{- if include "dragoman.hasSeveralPods" . -}}
{{-   if and .Values.persistence.enabled (not .Values.postgresql.enabled) -}}
{{-     fail "several pods cannot share a SQLite database: set postgresql.enabled, or replicas to 1" -}}
{{-   end -}}
{{-   if and .Values.persistence.enabled (ne .Values.persistence.accessMode "ReadWriteMany") -}}
{{-     fail "several pods need persistence.accessMode ReadWriteMany, or s3.enabled without persistence" -}}
{{-   end -}}
{{-   if and $hasJobs (not .Values.postgresql.enabled) -}}
{{-     fail "several pods need postgresql.enabled to share jobs; or set settings.jobs to \"off\"" -}}
{{-   end -}}
{{- end -}}
{{- if and $settings.requires_key (not .Values.postgresql.enabled) (not .Values.persistence.enabled) -}}
{{-   fail "settings.requires_key needs a place for keys: set postgresql.enabled or persistence.enabled" -}}
{{- end -}}
{{- if .Values.serviceMonitor.enabled -}}
{{-   if eq ($settings.metrics | default "auto") "off" -}}
{{-     fail "serviceMonitor.enabled has nothing to read while settings.metrics is \"off\"" -}}
{{-   end -}}
{{-   if and (include "dragoman.metricsNeedKey" .) (not .Values.serviceMonitor.keySecret) -}}
{{-     fail "/metrics requires a key: set serviceMonitor.keySecret, or settings.metrics to \"open\"" -}}
{{-   end -}}
{{- end -}}
{{- end }}

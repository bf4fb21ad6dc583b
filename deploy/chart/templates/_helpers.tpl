{{- define "evenkeel.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* Whether the subject, the second of the list, is selected: "true" or nothing. */ -}}
{{- define "evenkeel.has" -}}
{{- $subjects := (index . 0).Values.subjects -}}
{{- range $subjects -}}
{{- if not (has . (list "skew" "policies" "gates" "plans" "failforward")) -}}
{{- fail (printf "subjects: %s is none of skew, policies, gates, plans, failforward" .) -}}
{{- end -}}
{{- end -}}
{{- if or (empty $subjects) (has (index . 1) $subjects) -}}true{{- end -}}
{{- end }}

{{- define "evenkeel.webhook" -}}
{{- if or (include "evenkeel.has" (list . "policies")) (include "evenkeel.has" (list . "gates")) -}}true{{- end -}}
{{- end }}

{{- /* How far the mode of fail forward goes: 0 Off, 1 Observe, 2 Assist, 3 Force. */ -}}
{{- define "evenkeel.failforward" -}}
{{- $level := get (dict "Off" "0" "Observe" "1" "Assist" "2" "Force" "3") (toString .Values.failforward.mode) -}}
{{- if eq $level "" -}}
{{- fail (printf "failforward.mode: %v is none of \"Off\", Observe, Assist, Force" .Values.failforward.mode) -}}
{{- end -}}
{{- $level -}}
{{- end }}

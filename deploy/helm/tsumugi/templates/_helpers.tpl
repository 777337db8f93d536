{{- define "tsumugi.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{- define "tsumugi.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tsumugi.labels" -}}
{{ include "tsumugi.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* True if several servers can run at the same time. */}}
{{- define "tsumugi.joined" -}}
{{- if and .Values.nats.existingSecret .Values.files.bucket }}true{{ end }}
{{- end }}

{{- define "tsumugi.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "tsumugi.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "tsumugi.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- /* The settings of both the server and the migration. */}}
{{- define "tsumugi.env" -}}
{{- include "tsumugi.secretEnv" (list "DATABASE_URL" .Values.database.existingSecret .Values.database.key) }}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "tsumugi.secretEnv" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 1 }}
      key: {{ index . 2 }}
{{- end }}

{{- /* A rule for the destination in the first element, by the protocols in the others. */}}
{{- define "tsumugi.egress" -}}
{{- $to := first . -}}
- ports:
    {{- range $protocol := rest . }}
    {{- range $to.ports }}
    - {protocol: {{ $protocol }}, port: {{ . }}}
    {{- end }}
    {{- end }}
  {{- with $to.to }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

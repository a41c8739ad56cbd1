{{- define "lockkeeper.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "lockkeeper.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "lockkeeper.labels" -}}
{{ include "lockkeeper.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "lockkeeper.claim" -}}
{{- .Values.persistence.existingClaim | default (include "lockkeeper.name" .) -}}
{{- end -}}

{{- define "lockkeeper.image" -}}
{{- $repository := required "image.repository is required: set it to the repository of the image, for example registry.example.org/lockkeeper" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- /* The configuration. With an ingress, its trusted proxies are appended. */ -}}
{{- define "lockkeeper.config" -}}
{{- .Values.config -}}
{{- if and .Values.ingress.enabled (not (regexMatch "(?m)^[ \\t]*\\[sign_in\\]" .Values.config)) }}
[sign_in]
trusted_proxies = {{ .Values.ingress.trustedProxies | toJson }}
{{ end -}}
{{- end -}}

{{- /* A random salt is created once and then read from the cluster, so that later renderings do not differ. */ -}}
{{- define "lockkeeper.salt" -}}
{{- if not (hasKey .Release "lockkeeperSalt") -}}
{{- $secret := (lookup "v1" "Secret" .Release.Namespace (include "lockkeeper.name" .)) | default dict -}}
{{- $salt := .Values.checksumSalt | default (dig "data" "checksum-salt" "" $secret | b64dec) | default (randAlphaNum 32) -}}
{{- $_ := set .Release "lockkeeperSalt" $salt -}}
{{- end -}}
{{- .Release.lockkeeperSalt -}}
{{- end -}}

{{- define "lockkeeper.checksum" -}}
{{- printf "%s%s" (include "lockkeeper.salt" .) (include "lockkeeper.config" .) | sha256sum -}}
{{- end -}}

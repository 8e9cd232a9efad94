{{- define "coxswain.labels" -}}
app.kubernetes.io/name: coxswain
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "coxswain.selector" -}}
app.kubernetes.io/name: coxswain
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* A repository that names its registry keeps it, as that of PostgreSQL does: `image.registry` is where the images of this chart are. */ -}}
{{- define "coxswain.image" -}}
{{- $repository := .image.repository -}}
{{- if not (regexMatch "^([^/]*[.:][^/]*|localhost)/" $repository) }}
{{- with .root.Values.image.registry }}{{- $repository = printf "%s/%s" . $repository }}{{- end -}}
{{- end -}}
{{- if .image.digest }}{{ printf "%s@%s" $repository .image.digest }}{{ else }}{{ printf "%s:%s" $repository (.image.tag | default .root.Chart.AppVersion) }}{{ end -}}
{{- end }}

{{- define "coxswain.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "coxswain.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /*
A number for a program. `helm upgrade --reuse-values` knows no values that the release before did not have: nothing then, so that the program's own default
holds, which is that of values.yaml. 0 often means that there is no limit.
*/ -}}
{{- define "coxswain.number" -}}
{{- if not (kindIs "invalid" .) }}{{ int64 . }}{{ end -}}
{{- end }}

{{- define "coxswain.milliseconds" -}}
{{- if not (kindIs "invalid" .) }}{{ mul . 1000 }}{{ end -}}
{{- end }}

{{- define "coxswain.replicas" -}}
{{- . | default 2 -}}
{{- end }}

{{- /* A switch that is on by default: on as well where `--reuse-values` knows it not. */ -}}
{{- define "coxswain.isOn" -}}
{{- if ne (toString .) "false" }}on{{ end -}}
{{- end }}

{{- define "coxswain.ipFamilies" -}}
{{- with (.Values.network).ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with (.Values.network).ipFamilies }}
ipFamilies: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* The Secret with the token that a scrape of the operator's metrics needs. */ -}}
{{- define "coxswain.metricsSecret" -}}
{{- ((.Values.operator).metrics).tokenSecretName | default "coxswain-metrics" -}}
{{- end }}

{{- /* The bucket for code, as API and operator read it; nothing if none is named. */}}
{{- define "coxswain.codeBucket" -}}
{{- with .Values.codeBucket }}
{{- if .uri }}
- name: COXSWAIN_CODE_BUCKET_URI
  value: {{ .uri | quote }}
{{- with .endpoint }}
- name: COXSWAIN_CODE_BUCKET_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- with .region }}
- name: COXSWAIN_CODE_BUCKET_REGION
  value: {{ . | quote }}
{{- end }}
{{- $secret := required "codeBucket.credentialsSecret is needed with codeBucket.uri" .credentialsSecret }}
- name: COXSWAIN_CODE_BUCKET_KEY_ID
  valueFrom: { secretKeyRef: { name: {{ $secret | quote }}, key: AWS_ACCESS_KEY_ID } }
- name: COXSWAIN_CODE_BUCKET_KEY
  valueFrom: { secretKeyRef: { name: {{ $secret | quote }}, key: AWS_SECRET_ACCESS_KEY } }
{{- end }}
{{- end }}
{{- end }}

{{- /* Ports of the Kubernetes API as a NetworkPolicy lists them. */}}
{{- define "coxswain.kubernetesApiPorts" -}}
{{- range .Values.networkPolicy.kubernetesApiPorts }}
- port: {{ int64 . }}
{{- end }}
{{- end }}

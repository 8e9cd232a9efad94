{{- /*
A service account with exactly these rights: `cluster` in every namespace, `namespace` in the release's own. Both are YAML of rules, or nothing.
`annotations` make all of it part of a hook.
*/ -}}
{{- define "coxswain.account" -}}
{{- $labels := include "coxswain.labels" . -}}
{{- $namespace := .root.Release.Namespace -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ $namespace }}
  labels: {{- $labels | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- if .cluster }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .name }}
  labels: {{- $labels | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
rules: {{- .cluster | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
  labels: {{- $labels | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ $namespace }}
{{- end }}
{{- if .namespace }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ $namespace }}
  labels: {{- $labels | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
rules: {{- .namespace | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ $namespace }}
  labels: {{- $labels | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ $namespace }}
{{- end }}
{{- end }}

{{- /* Of a pod that speaks with the API server as `account`, and has nothing but /tmp to write to. */ -}}
{{- define "coxswain.jobPod" -}}
restartPolicy: {{ .restartPolicy | default "Never" }}
serviceAccountName: {{ .account }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- include "coxswain.podSecurity" . | nindent 2 }}
{{- include "coxswain.podPlacement" (dict "root" .root "own" (.root.Values.jobs).pods) }}
{{- end }}

{{- /* Labels and annotations of a pod of a Job of the chart, besides `labels`. */ -}}
{{- define "coxswain.jobPodMetadata" -}}
{{- $pods := dict "root" .root "own" (.root.Values.jobs).pods -}}
labels:
  {{- .labels | nindent 2 }}
  {{- with include "coxswain.podLabels" $pods }}{{ trim . | nindent 2 }}{{ end }}
{{- include "coxswain.podAnnotations" $pods }}
{{- end }}

{{- /*
A hook that runs a command of the operator's image: `when` it runs, and its `args`. Its account and rights are made with it and go with it; `definitions`
says whether the chart's definitions are mounted. What it says when it fails, helm shows.
*/ -}}
{{- define "coxswain.hook" -}}
{{- $policy := dict "helm.sh/hook" .when "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" "helm.sh/hook-output-log-policy" "hook-failed" -}}
{{- $before := merge (dict "helm.sh/hook-weight" "-5") $policy -}}
{{- $job := merge (dict "helm.sh/hook-weight" "0") $policy -}}
{{- $labels := include "coxswain.labels" . -}}
{{ include "coxswain.account" (merge (dict "annotations" $before) .) }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
  annotations: {{- toYaml $job | nindent 4 }}
spec:
  backoffLimit: {{ .backoffLimit }}
  # Helm waits 300 s by default. Left alone it would leave this account with its rights; a Job that has failed by then is told as such.
  activeDeadlineSeconds: 240
  template:
    metadata: {{- include "coxswain.jobPodMetadata" (dict "root" .root "labels" $labels) | nindent 6 }}
    spec:
      {{- include "coxswain.jobPod" (dict "root" .root "account" .name) | nindent 6 }}
      containers:
        - name: {{ .component }}
          image: {{ include "coxswain.image" (dict "root" .root "image" .root.Values.operator.image) | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: {{- toYaml .args | nindent 12 }}
          securityContext: {{- include "coxswain.containerSecurity" . | nindent 12 }}
          resources: {{- toYaml ((.root.Values.jobs).resources | default .root.Values.operator.resources) | nindent 12 }}
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            {{- with .configMap }}
            - { name: files, mountPath: /etc/coxswain/files, readOnly: true }
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: { sizeLimit: 32Mi }
        {{- with .configMap }}
        - name: files
          configMap: { name: {{ . }} }
        {{- end }}
{{- end }}

{{- /*
Where pods run and what they carry: `pods` holds for every part, `own` is what a part says for itself. Labels and annotations of both are put together; of
everything else a part's own replaces that of all.
*/ -}}
{{- define "coxswain.podPlacement" -}}
{{- $all := .root.Values.pods | default dict -}}
{{- $own := .own | default dict -}}
{{- with $own.nodeSelector | default $all.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations | default $all.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.priorityClassName | default $all.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $own.affinity | default $all.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "coxswain.podLabels" -}}
{{- $all := .root.Values.pods | default dict -}}
{{- with merge (dict) ((.own | default dict).labels | default dict) ($all.labels | default dict) }}{{ toYaml . }}{{ end -}}
{{- end }}

{{- /* With those that the chart itself gives, `more`. */ -}}
{{- define "coxswain.podAnnotations" -}}
{{- $all := .root.Values.pods | default dict -}}
{{- $own := (.own | default dict).annotations | default dict -}}
{{- with merge (dict) (.more | default dict) $own ($all.annotations | default dict) }}
annotations: {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end }}

{{- /* Replicas of one part are spread over nodes, unless somebody says another affinity for them. */ -}}
{{- define "coxswain.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "coxswain.selector" . | nindent 8 }}
{{- if not ((.own | default dict).affinity | default (.root.Values.pods | default dict).affinity) }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "coxswain.selector" . | nindent 14 }}
{{- end }}
{{- end }}

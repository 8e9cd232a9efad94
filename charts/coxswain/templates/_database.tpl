{{- /* `helm upgrade --reuse-values` of a chart that knew external databases alone has no `database`. */ -}}
{{- define "coxswain.databaseSource" -}}
{{- (.Values.database).source | default "external" -}}
{{- end }}

{{- define "coxswain.databaseSecret" -}}
{{- if eq (include "coxswain.databaseSource" .) "external" }}{{ .Values.api.databaseSecret }}{{ else }}coxswain-database-urls{{ end -}}
{{- end }}

{{- /*
What an installation lacks is said before anything is made. What is looked up is never part of what is rendered, and nothing is found where there is no
cluster (helm template): the namespace kube-system tells.
*/ -}}
{{- define "coxswain.checks" -}}
{{- if and .Release.IsInstall (or (eq .Release.Namespace "default") (hasPrefix "kube-" .Release.Namespace)) }}
{{- fail (printf "\n\nCoxswain needs a namespace of its own, which no project may use, and %q is not one: helm install … --namespace coxswain-system --create-namespace\n" .Release.Namespace) }}
{{- end }}
{{- if lookup "v1" "Namespace" "" "kube-system" }}
{{- $source := include "coxswain.databaseSource" . }}
{{- $isNew := not (lookup "apps/v1" "StatefulSet" .Release.Namespace "coxswain-postgresql") }}
{{- if and (eq $source "embedded") $isNew .Release.IsUpgrade (lookup "v1" "Secret" .Release.Namespace .Values.api.databaseSecret) }}
{{- fail (printf "\n\nThis release uses the database of the Secret %q, and database.source is \"embedded\", which would begin with an empty one. Go on with yours: --set database.source=external. To begin anew, delete that Secret.\n" .Values.api.databaseSecret) }}
{{- end }}
{{- /* The claim of an installation before stays, and is used again. */}}
{{- $kept := lookup "v1" "PersistentVolumeClaim" .Release.Namespace "data-coxswain-postgresql-0" }}
{{- if and (eq $source "embedded") $isNew (not $kept) (not .Values.database.embedded.storage.existingClaim) }}
{{- include "coxswain.checkStorage" . }}
{{- end }}
{{- if and (.Values.gateway).enabled (not (.Capabilities.APIVersions.Has "gateway.networking.k8s.io/v1/HTTPRoute")) }}
{{- fail "\n\ngateway.enabled is set, and this cluster does not serve gateway.networking.k8s.io/v1: install the Gateway API and an implementation of it first, or use ingress.enabled.\n" }}
{{- end }}
{{- if and (eq $source "cloudNativePG") (not (.Capabilities.APIVersions.Has "postgresql.cnpg.io/v1")) }}
{{- fail "\n\ndatabase.source is \"cloudNativePG\", and this cluster does not serve postgresql.cnpg.io/v1: install the CloudNativePG operator first, or use --set database.source=embedded or external.\n" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "coxswain.checkStorage" -}}
{{- $wanted := .Values.database.embedded.storage.className }}
{{- $names := list }}
{{- $default := "" }}
{{- range (lookup "storage.k8s.io/v1" "StorageClass" "" "").items }}
{{- $names = append $names .metadata.name }}
{{- if eq (index (.metadata.annotations | default dict) "storageclass.kubernetes.io/is-default-class" | default "") "true" }}{{ $default = .metadata.name }}{{ end }}
{{- end }}
{{- $there := join ", " $names | default "none" }}
{{- if and (not $wanted) (not $default) }}
{{- fail (printf "\n\nThe embedded PostgreSQL needs a volume, and this cluster has no default StorageClass (there: %s). Name one: --set database.embedded.storage.className=NAME. Or give a claim of yours (database.embedded.storage.existingClaim), or a database of yours (--set database.source=external).\n" $there) }}
{{- end }}
{{- if and $wanted (not (has $wanted $names)) }}
{{- $volumes := list }}
{{- range (lookup "v1" "PersistentVolume" "" "").items }}{{ $volumes = append $volumes (.spec.storageClassName | default "") }}{{ end }}
{{- if not (has $wanted $volumes) }}
{{- fail (printf "\n\ndatabase.embedded.storage.className is %q, and this cluster has neither a StorageClass nor a PersistentVolume of that name (StorageClasses there: %s).\n" $wanted $there) }}
{{- end }}
{{- end }}
{{- end }}

/** How an S3-compatible store is reached. What is absent, the AWS SDK takes from its own environment variables, files and metadata services. */
export interface S3Options {
  readonly region?: string | undefined;
  /** Of a store that is not AWS, such as `http://minio.storage:9000`. Its buckets are addressed by path. */
  readonly endpoint?: string | undefined;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Longest silence of the server; 30 s by default. */
  readonly silenceMs?: number;
  /** Bytes of a part of a large file, at least 5 MiB on AWS; 16 MiB by default. A file has at most 10,000 parts. */
  readonly partBytes?: number;
}

/** How an S3-compatible store is reached. What is absent, the AWS SDK takes from its own environment variables, files and metadata services. */
export interface S3Options {
  readonly region?: string | undefined;
  /** Of a store that is not AWS, such as `http://minio.storage:9000`. Its buckets are addressed by path. */
  readonly endpoint?: string | undefined;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Longest silence of the server; 30 s by default. */
  readonly silenceMs?: number;
  /** Files in one answer to a list; as many as the server gives by default, which is 1,000 on AWS. */
  readonly pageFiles?: number;
  /** Bytes of a part of a large file, at least 5 MiB on AWS; 16 MiB by default. A file has at most 10,000 parts. */
  readonly partBytes?: number;
}

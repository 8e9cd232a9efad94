import { KubeApiError } from '@coxswain/kube';
import { ChangedByOthers } from './cluster-writer.ts';
import { describeApplyFailure } from './describe-apply-failure.ts';

const answered = (status: number, message: string): KubeApiError =>
  new KubeApiError({ status, reason: 'x', message: `POST /apis/x was answered ${status}: ${message}` });

describe('why a change has not reached the cluster', () => {
  it.each<[string, unknown, string]>([
    [
      'an unreachable API server, without its address',
      new KubeApiError({ status: 0, reason: 'ConnectionFailed', message: 'connect ECONNREFUSED 10.0.0.1:443' }),
      'The Kubernetes API server does not answer.',
    ],
    [
      'an API server that takes too long',
      new KubeApiError({ status: 0, reason: 'Aborted', message: 'POST https://10.0.0.1/apis was aborted' }),
      'The Kubernetes API server did not answer in time. An admission webhook of the namespace may be slow.',
    ],
    [
      'what an admission webhook does not do',
      answered(500, 'failed calling webhook "policy.example.com": context deadline exceeded'),
      'The Kubernetes API server answered 500: failed calling webhook "policy.example.com": context deadline exceeded',
    ],
    [
      'a missing right',
      answered(403, 'trainingjobs is forbidden: User "api" cannot create resource'),
      'The cluster denies Coxswain a right, which an administrator of the cluster must grant: trainingjobs is forbidden: User "api" cannot create resource',
    ],
    [
      'a missing definition',
      answered(404, 'the server could not find the requested resource'),
      'The cluster has no definition of TrainingJobs. An administrator of the cluster must install it.',
    ],
    [
      'writes of others',
      new ChangedByOthers('job 7'),
      'Others changed the job in the cluster each time Coxswain wrote it.',
    ],
    [
      'an error of ours, without its words',
      new Error('password authentication failed'),
      'Coxswain could not apply the change because of an error of its own.',
    ],
  ])('names %s', (_what, error, sentence) => {
    expect(describeApplyFailure(error)).toBe(sentence);
  });
});

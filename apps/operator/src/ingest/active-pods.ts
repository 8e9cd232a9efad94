/** Pods that sent a valid report since the last digest, by attempt. */
export class ActivePods {
  #gangs = new Map<string, { readonly jobUid: string; readonly epoch: number; readonly podUids: Set<string> }>();

  add({ jobUid, epoch, podUid }: { readonly jobUid: string; readonly epoch: number; readonly podUid: string }): void {
    const key = `${jobUid}/${epoch}`;
    const known = this.#gangs.get(key);
    if (known === undefined) this.#gangs.set(key, { jobUid, epoch, podUids: new Set([podUid]) });
    else known.podUids.add(podUid);
  }

  /** All pods since the previous call. */
  take(): readonly { readonly jobUid: string; readonly epoch: number; readonly podUids: readonly string[] }[] {
    const taken = [...this.#gangs.values()].map(({ podUids, ...gang }) => ({ ...gang, podUids: [...podUids] }));
    this.#gangs = new Map();
    return taken;
  }
}

// Names and ids, shortened so that they still can be told apart.

/** 01a1e9…c3ae: the beginning says when, the end says which. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 6)}…${id.slice(-4)}`;
}

/** gpu-3/9f21: a worker's name and the beginning of its boot's nonce. */
export function shortOwner(owner: string): string {
  const slash = owner.lastIndexOf("/");
  return slash < 0 ? owner : `${owner.slice(0, slash)}/${owner.slice(slash + 1, slash + 5)}`;
}

export function ownerName(owner: string): string {
  const slash = owner.lastIndexOf("/");
  return slash < 0 ? owner : owner.slice(0, slash);
}

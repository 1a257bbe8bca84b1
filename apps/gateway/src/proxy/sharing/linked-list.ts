/** A member of a list; what it stands for is told once. */
export class ListNode<T> {
  previous: ListNode<T> | null = null;
  next: ListNode<T> | null = null;

  constructor(readonly value: T) {}
}

/** A queue from whose middle a member can go at no cost. A node may be in one list at a time. */
export class LinkedList<T> {
  first: ListNode<T> | null = null;
  private last: ListNode<T> | null = null;

  push(node: ListNode<T>): void {
    node.previous = this.last;
    node.next = null;
    if (this.last === null) this.first = node;
    else this.last.next = node;
    this.last = node;
  }

  /** @param node has to be in this list */
  remove(node: ListNode<T>): void {
    const { previous, next } = node;
    if (previous === null) this.first = next;
    else previous.next = next;
    if (next === null) this.last = previous;
    else next.previous = previous;
    node.previous = null;
    node.next = null;
  }
}

/** Values that are made when they are first asked for, by key or by node. */
export class Table<Key, Value> {
  private readonly values = new Map<Key, Value>();

  constructor(private readonly create: (key: Key) => Value) {}

  of(key: Key): Value {
    let value = this.values.get(key);
    if (value === undefined) {
      value = this.create(key);
      this.values.set(key, value);
    }
    return value;
  }

  entries(): IterableIterator<[Key, Value]> {
    return this.values.entries();
  }
}

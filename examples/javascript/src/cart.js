export function total(items) {
  return items.reduce((sum, item) => sum + item.price, 0);
}

export function receipt(items) {
  return items.map((item) => `${item.name} x${item.count}`).join("\n");
}

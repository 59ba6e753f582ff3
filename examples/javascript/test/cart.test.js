import assert from "node:assert/strict";
import test from "node:test";
import { receipt, total } from "../src/cart.js";

const items = [
  { name: "tea", price: 3, count: 2 },
  { name: "cup", price: 5, count: 1 },
];

test("the total counts every piece", () => {
  assert.equal(total(items), 11);
});

test("a receipt has a line for each item", () => {
  assert.equal(receipt(items), "tea x2\ncup x1");
});

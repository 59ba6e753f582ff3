// A stand-in for a coding agent: it knows one trick. The prompt is on standard input.
import { readFileSync, writeFileSync } from "node:fs";

const prompt = readFileSync(0, "utf8");
if (!prompt.includes("src/cart.js")) {
  console.log(`Task ${process.env.RALPH_TASK_ID}: Fix FAILED\n- Error: this is not about the cart`);
  process.exit(1);
}
const source = readFileSync("src/cart.js", "utf8");
writeFileSync("src/cart.js", source.replace("sum + item.price,", "sum + item.price * item.count,"));
console.log("Approach: multiply the price by the count\nTASK_COMPLETE");

export function remember(theme) {
  localStorage.setItem("theme", theme);
}

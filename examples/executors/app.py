def add(a, b):
    return a - b


def double(a):
    return add(a, a)

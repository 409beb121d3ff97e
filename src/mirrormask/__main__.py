"""`python -m mirrormask`, and so `accelerate launch -m mirrormask train …`."""

from mirrormask.cli import main

if __name__ == "__main__":
    main()

"""The expert who reads, served as a chat model on this machine: something to try `afk eval openai:...` with.

python examples/expert_server.py --port 8000
afk eval openai:expert --base-url http://127.0.0.1:8000/v1 --task C --episodes 20
"""

import argparse
from contextlib import suppress

from afk.play.serving import ExpertModel, make_server


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    with make_server(ExpertModel(), parser.parse_args().port, model="expert") as server:
        print(f"the expert is at http://{server.server_address[0]}:{server.server_port}/v1", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
